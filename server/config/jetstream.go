package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"godwit/conf"
	"godwit/server/options"
)

// setJetStream decodes the jetstream key of the server.
func setJetStream(d *conf.Decoder, _ string, v *conf.Value, b *build) {
	switch v.Kind {
	case conf.Bool:
		b.JetStream.Enabled = v.Flag
	case conf.String:
		b.JetStream.Enabled, _ = onOff(d, v)
	case conf.MapKind:
		b.JetStream.Enabled = true
		jetStreamBlock().Decode(d, v, b)
	default:
		d.Errorf(v, "Expected map, bool or string to define JetStream, got %s", v.GoType())
	}
}

// jetStreamBlock declares the jetstream block.
func jetStreamBlock() *conf.Block[build] {
	text := func(key, doc string, at func(*options.JetStream) *string, aliases ...string) conf.Field[build] {
		return conf.Field[build]{Key: key, Aliases: aliases, Type: "string", Doc: doc, Set: conf.Str(func(b *build) *string { return at(&b.JetStream) })}
	}
	secret := func(f conf.Field[build]) conf.Field[build] {
		f.Secret = true
		return f
	}
	return conf.NewBlock(conf.Block[build]{
		Name: "jetstream",
		Doc:  "Streams. Sizes are integers, or strings that end in K, M, G or T (powers of 1024).",
	},
		conf.Field[build]{Key: "enabled", Aliases: []string{"enable"}, Type: "boolean", Default: "true", Reload: conf.Live, Doc: "Streams are on.", Set: conf.Flag(func(b *build) *bool { return &b.JetStream.Enabled })},
		conf.Field[build]{Key: "store_dir", Aliases: []string{"store", "storedir"}, Type: "path", Doc: "Directory of the streams; default is a folder in the system's directory for temporary files.", Set: setStoreDir},
		conf.Field[build]{Key: "max_memory_store", Aliases: []string{"max_mem_store", "max_mem"}, Type: "size", Unit: "bytes", Reload: conf.Partly, Doc: "All memory streams together; default is 75 % of the machine's memory. A reload may raise it.", Set: sizeSetter("max_mem_store", func(b *build) *int64 { return &b.JetStream.MaxMemory })},
		conf.Field[build]{Key: "max_file_store", Aliases: []string{"max_file"}, Type: "size", Unit: "bytes", Reload: conf.Partly, Doc: "All file streams together; default is 75 % of the free disk space. A reload may raise it.", Set: sizeSetter("max_file_store", func(b *build) *int64 { return &b.JetStream.MaxStore })},
		text("domain", "Name that tells the streams of several systems apart, without `.`, `*` and `>`.", func(j *options.JetStream) *string { return &j.Domain }),
		conf.Field[build]{Key: "sync_interval", Aliases: []string{"sync"}, Type: "duration or `always`", Default: "always", Doc: "When stored messages are synced to disk: before they are acknowledged, or at least this often.", Set: setSyncInterval},
		conf.Field[build]{Key: "tail_memory", Type: "size", Unit: "bytes", Default: "128MB", Doc: "Memory for messages stored lately, from which consumers are served without reading; all streams share it. Not in nats-server.", Set: memorySetter(func(b *build) *int64 { return &b.JetStream.TailMemory })},
		conf.Field[build]{Key: "cache_memory", Type: "size", Unit: "bytes", Default: "64MB", Doc: "Memory for messages read one by one, as by direct gets and key-value gets; all streams share it. Not in nats-server.", Set: memorySetter(func(b *build) *int64 { return &b.JetStream.CacheMemory })},
		conf.Field[build]{Key: "segment_size", Type: "size", Unit: "bytes", Default: "256MB", Bounds: "4KB to 2GB", Doc: "Size of the files of a stream. A smaller one gives disk space back sooner and makes more files. It counts for files begun later. Not in nats-server.", Set: func(d *conf.Decoder, key string, v *conf.Value, b *build) {
			n, err := storageSize(v)
			if err != nil || n < 4<<10 || n > 2<<30 {
				d.Errorf(v, "Expected a size between 4KB and 2GB for %q, got %v", key, v)
				return
			}
			b.JetStream.SegmentSize = n
		}},
		conf.Field[build]{Key: "disk_reserve", Type: "size", Unit: "bytes", Default: "256MB", Doc: "While less of the disk is free, publishes into file streams are refused; default is 5 % of the disk if that is less, and 0 is none. Not in nats-server.", Set: func(d *conf.Decoder, key string, v *conf.Value, b *build) {
			memorySetter(func(b *build) *int64 { return &b.JetStream.DiskReserve })(d, key, v, b)
			if b.JetStream.DiskReserve == 0 {
				b.JetStream.DiskReserve = -1
			}
		}},
		conf.Field[build]{Key: "own_file_system", Type: "boolean", Doc: "Nothing else writes to the file system of the store directory, so it may be synced as a whole where many streams wait; default is true if it is mounted at store_dir. Linux 5.17 and ext4 with a journal only. Not in nats-server.", Set: func(d *conf.Decoder, key string, v *conf.Value, b *build) {
			if v.Kind != conf.Bool {
				d.Errorf(v, "Expected 'true' or 'false' for %q, got %v", key, v)
				return
			}
			b.JetStream.OwnFileSystem = &v.Flag
		}},
		conf.Field[build]{Key: "strict", Type: "boolean", Default: "true", Doc: "Refuse API requests with unknown fields.", Set: func(d *conf.Decoder, _ string, v *conf.Value, b *build) {
			if v.Kind != conf.Bool {
				d.Errorf(v, "Expected 'true' or 'false' for bool value, got '%v'", v)
				return
			}
			b.JetStream.Strict = v.Flag
		}},
		secret(text("encryption_key", "Key from which files are encrypted.", func(j *options.JetStream) *string { return &j.EncryptionKey }, "key", "ek")),
		secret(text("prev_encryption_key", "Key of files written before the key was changed.", func(j *options.JetStream) *string { return &j.PrevEncryptionKey }, "prev_key", "prev_ek")),
		conf.Field[build]{Key: "cipher", Type: "`chacha` (`chachapoly`) or `aes`", Default: "chacha", Doc: "How files are encrypted.", Set: cipher(func(b *build) *options.Cipher { return &b.JetStream.Cipher })},
		conf.Field[build]{Key: "tpm", Type: "map", Block: "tpm", Doc: "Keep the encryption key in a trusted platform module.", Set: func(d *conf.Decoder, _ string, v *conf.Value, b *build) {
			t := &options.TPM{}
			if tpmBlock().Decode(d, v, t) {
				b.JetStream.TPM = t
			}
		}},
		text("extension_hint", "Whether limits of the account server may be raised: `will_extend` or `no_extend`.", func(j *options.JetStream) *string { return &j.ExtensionHint }),
		text("unique_tag", "Prefix of server tags: no two replicas of a stream are put on servers with the same such tag.", func(j *options.JetStream) *string { return &j.UniqueTag }),
		conf.Field[build]{Key: "limits", Type: "map", Block: "jetstream limits", Reload: conf.Live, Doc: "Limits of every stream and consumer.", Set: func(d *conf.Decoder, _ string, v *conf.Value, b *build) {
			jsLimitsBlock().Decode(d, v, &b.JetStream.Limits)
		}},
		conf.Field[build]{Key: "max_outstanding_catchup", Type: "size", Unit: "bytes", Default: "64MB", Doc: "Data under way to replicas that catch up.", Set: sizeSetter("max_outstanding_catchup", func(b *build) *int64 { return &b.JetStream.MaxCatchup })},
		conf.Field[build]{Key: "max_buffered_size", Type: "size", Unit: "bytes", Default: "128MB", Doc: "Messages waiting to be stored in one stream.", Set: sizeSetter("max_buffered_size", func(b *build) *int64 { return &b.JetStream.MaxBufferedSize })},
		conf.Field[build]{Key: "max_buffered_msgs", Type: "integer", Default: "10000", Doc: "The same as a number of messages.", Set: countSetter(func(b *build) *int64 { return &b.JetStream.MaxBufferedMsgs })},
		conf.Field[build]{Key: "request_queue_limit", Type: "integer", Default: "10000", Doc: "API requests waiting; further ones are dropped.", Set: countSetter(func(b *build) *int64 { return &b.JetStream.RequestQueue })},
		conf.Field[build]{Key: "info_queue_limit", Type: "integer", Doc: "Requests for information waiting; default is request_queue_limit.", Set: countSetter(func(b *build) *int64 { return &b.JetStream.InfoQueue })},
		conf.Field[build]{Key: "meta_compact", Type: "integer", Default: "0", Reload: conf.Live, Doc: "Entries of the metadata log after which it is compacted; 0 leaves it to the server.", Set: func(d *conf.Decoder, key string, v *conf.Value, b *build) {
			if v.Kind != conf.Int || v.Num < 0 {
				d.Errorf(v, "Expected an absolute size for %q, got %v", key, v)
				return
			}
			b.JetStream.MetaCompact = v.Num
		}},
		conf.Field[build]{Key: "meta_compact_size", Type: "size", Unit: "bytes", Default: "0", Reload: conf.Live, Doc: "The same as a size.", Set: func(d *conf.Decoder, key string, v *conf.Value, b *build) {
			if v.Kind == conf.Int && v.Num < 0 {
				d.Errorf(v, "Expected an absolute size for %q, got %v", key, v)
				return
			}
			sizeSetter("meta_compact_size", func(b *build) *int64 { return &b.JetStream.MetaCompactSize })(d, key, v, b)
		}},
		conf.Field[build]{Key: "meta_compact_sync", Type: "boolean", Default: "false", Reload: conf.Live, Doc: "Compact while nothing else is done.", Set: conf.Flag(func(b *build) *bool { return &b.JetStream.MetaCompactSync })},
		conf.Field[build]{Key: "max_concurrent_io", Type: "integer", Bounds: "4 to 8192", Doc: "Disk operations at a time.", Set: func(d *conf.Decoder, key string, v *conf.Value, b *build) {
			if v.Kind != conf.Int || v.Num < 4 || v.Num > 8192 {
				d.Errorf(v, "Expected an absolute size for %q between 4 and 8192, got %v", key, v)
				return
			}
			b.JetStream.MaxConcurrentIO = int(v.Num)
		}},
	)
}

func setSyncInterval(d *conf.Decoder, key string, v *conf.Value, b *build) {
	if v.Kind == conf.String && strings.EqualFold(v.Text, "always") {
		b.JetStream.SyncAlways, b.JetStream.SyncInterval = true, options.DefaultSyncInterval
		return
	}
	if t, ok := d.Duration(v, key); ok {
		b.JetStream.SyncAlways, b.JetStream.SyncInterval = false, t
	}
}

// sizeSetter sets a size in bytes, which messages call name.
func sizeSetter[T any](name string, at func(*T) *int64) conf.Setter[T] {
	return func(d *conf.Decoder, _ string, v *conf.Value, into *T) {
		n, err := storageSize(v)
		if err != nil {
			d.Errorf(v, "%s %v", name, err)
			return
		}
		*at(into) = n
	}
}

// memorySetter sets a number of bytes that is not negative.
func memorySetter[T any](at func(*T) *int64) conf.Setter[T] {
	return func(d *conf.Decoder, key string, v *conf.Value, into *T) {
		if n, err := storageSize(v); err != nil {
			d.Errorf(v, "%s %v", key, err)
		} else if n < 0 {
			d.Errorf(v, "Expected a size of 0 or more for %q, got %v", key, n)
		} else {
			*at(into) = n
		}
	}
}

// storageSize reads a number of bytes or a string that ends in K, M, G or T.
func storageSize(v *conf.Value) (int64, error) {
	switch {
	case v.Kind == conf.Int:
		return v.Num, nil
	case v.Kind != conf.String:
		return 0, fmt.Errorf("must be int64 or string")
	case v.Text == "":
		return 0, nil
	}
	digits, suffix := v.Text[:len(v.Text)-1], v.Text[len(v.Text)-1:]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, err
	}
	power := strings.Index("KMGT", strings.ToUpper(suffix)) + 1
	if power == 0 {
		return 0, fmt.Errorf("sizes defined as strings must end in K, M, G, T")
	}
	unit := int64(1) << (10 * power)
	if n > math.MaxInt64/unit || n < math.MinInt64/unit {
		return 0, fmt.Errorf("value is too big")
	}
	return n * unit, nil
}

// cipher sets how files are encrypted.
func cipher[T any](at func(*T) *options.Cipher) conf.Setter[T] {
	return func(d *conf.Decoder, _ string, v *conf.Value, into *T) {
		s, ok := d.String(v)
		if !ok {
			return
		}
		switch strings.ToLower(s) {
		case "chacha", "chachapoly":
			*at(into) = options.CipherChaCha
		case "aes":
			*at(into) = options.CipherAES
		default:
			d.Errorf(v, "Unknown cipher type: %q", s)
		}
	}
}

// tpmBlock declares the block tpm.
func tpmBlock() *conf.Block[options.TPM] {
	type T = options.TPM
	return conf.NewBlock(conf.Block[T]{
		Name: "tpm", Doc: "A trusted platform module that unseals the encryption key.",
		NotMap: mustBeMap("Expected a map to define JetStreamLimits, got %s"),
	},
		conf.Field[T]{Key: "keys_file", Type: "path", Doc: "File of the sealed key.", Set: conf.Str(func(t *T) *string { return &t.KeysFile })},
		conf.Field[T]{Key: "encryption_password", Secret: true, Type: "string", Doc: "Password of the sealed key.", Set: conf.Str(func(t *T) *string { return &t.EncryptionPassword })},
		conf.Field[T]{Key: "srk_password", Secret: true, Type: "string", Doc: "Password of the storage root key.", Set: conf.Str(func(t *T) *string { return &t.SRKPassword })},
		conf.Field[T]{Key: "pcr", Type: "integer", Default: "22", Doc: "Platform configuration register.", Set: conf.Number(func(t *T) *int { return &t.PCR })},
		conf.Field[T]{Key: "cipher", Type: "`chacha` (`chachapoly`) or `aes`", Default: "chacha", Doc: "How files are encrypted.", Set: cipher(func(t *T) *options.Cipher { return &t.Cipher })},
	)
}

// jsLimitsBlock declares the limits of all streams.
func jsLimitsBlock() *conf.Block[options.JSLimits] {
	type L = options.JSLimits
	count := func(key, doc, def string, at func(*L) *int) conf.Field[L] {
		return conf.Field[L]{Key: key, Type: "integer", Default: def, Reload: conf.Live, Doc: doc, Set: conf.Number(at)}
	}
	return conf.NewBlock(conf.Block[L]{
		Name: "jetstream limits", Doc: "Limits of every stream and consumer; 0 is the server's own limit or none.",
		NotMap: mustBeMap("Expected a map to define JetStreamLimits, got %s"),
	},
		count("max_ack_pending", "Largest max_ack_pending of a consumer.", "0", func(l *L) *int { return &l.MaxAckPending }),
		count("max_ha_assets", "Replicated streams and consumers on this server.", "0", func(l *L) *int { return &l.MaxHAAssets }),
		count("max_request_batch", "Largest batch of one pull request.", "0", func(l *L) *int { return &l.MaxRequestBatch }),
		count("default_max_consumers", "Consumers of a stream that sets no number.", "1000", func(l *L) *int { return &l.DefaultMaxConsumers }),
		conf.Field[L]{Key: "duplicate_window", Type: "duration, as a string", Reload: conf.Live, Doc: "Longest duplicate window of a stream.", Set: strictSpan("", func(l *L) *time.Duration { return &l.DuplicateWindow })},
		conf.Field[L]{Key: "batch", Type: "map", Block: "batch", Reload: conf.Live, Doc: "Limits of batch publishing.", Set: func(d *conf.Decoder, _ string, v *conf.Value, l *L) {
			batchBlock().Decode(d, v, l)
		}},
	)
}

// batchBlock declares the limits of batch publishing.
func batchBlock() *conf.Block[options.JSLimits] {
	type L = options.JSLimits
	count := func(key, doc string, at func(*L) *int) conf.Field[L] {
		return conf.Field[L]{Key: key, Type: "integer", Reload: conf.Live, Doc: doc, Set: conf.Number(at)}
	}
	return conf.NewBlock(conf.Block[L]{
		Name: "batch", Doc: "Limits of batch publishing.",
		NotMap: mustBeMap("Expected a map to define batch limits, got %s"),
	},
		count("max_inflight_per_stream", "Batches begun and not finished in one stream.", func(l *L) *int { return &l.BatchMaxInflightPerStream }),
		count("max_inflight_total", "The same in the whole server.", func(l *L) *int { return &l.BatchMaxInflightTotal }),
		count("max_msgs", "Messages of one batch.", func(l *L) *int { return &l.BatchMaxMsgs }),
		conf.Field[L]{Key: "timeout", Type: "duration, as a string", Reload: conf.Live, Doc: "Time without a message after which a batch is given up.", Set: strictSpan("", func(l *L) *time.Duration { return &l.BatchTimeout })},
	)
}
