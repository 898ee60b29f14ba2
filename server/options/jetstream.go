package options

import "time"

// JetStream configures streams and where they are kept.
type JetStream struct {
	Enabled  bool
	StoreDir string // files are in its folder jetstream; empty: a folder under the system's directory for temporary files

	MaxMemory int64 // bytes of all memory streams; Dynamic takes 75 % of the machine's memory
	MaxStore  int64 // bytes of all file streams; Dynamic takes 75 % of the free disk space
	Domain    string
	UniqueTag string // prefix of server tags of which replicas of one stream must differ

	SyncAlways   bool          // messages are acknowledged after they are synced to disk
	SyncInterval time.Duration // longest time without a sync when SyncAlways is off

	TailMemory  int64 // bytes of memory for messages stored lately, of all streams; 0 is the default
	CacheMemory int64 // bytes of memory for messages read one by one, of all streams; 0 is the default
	DiskReserve int64 // bytes of the disk that publishes leave free; 0 is the default, below is none
	// OwnFileSystem says that nothing else uses the file system of StoreDir; nil: if it is mounted there.
	OwnFileSystem *bool

	SegmentSize int64 // bytes of a stream's files, 4 KiB to 2 GiB; 0 is the default

	Strict bool // unknown fields in API requests are refused

	EncryptionKey     string // empty: no encryption
	PrevEncryptionKey string // of files written before the key was changed
	Cipher            Cipher
	TPM               *TPM

	Limits        JSLimits
	ExtensionHint string // will_extend or no_extend

	MaxCatchup      int64 // bytes under way to a replica that catches up; 0 is the default
	MaxBufferedMsgs int64 // of a stream's inbound queue; 0 is the default
	MaxBufferedSize int64 // bytes of the same
	RequestQueue    int64 // API requests waiting
	InfoQueue       int64 // info requests waiting; 0 is RequestQueue
	MetaCompact     int64
	MetaCompactSize int64 // bytes
	MetaCompactSync bool
	MaxConcurrentIO int // 4 to 8192; 0 is the default
}

// JSLimits are limits of every stream and consumer of the server; 0 is the default or no limit.
type JSLimits struct {
	MaxRequestBatch     int
	MaxAckPending       int
	MaxHAAssets         int
	DuplicateWindow     time.Duration
	DefaultMaxConsumers int

	BatchMaxInflightPerStream int
	BatchMaxInflightTotal     int
	BatchMaxMsgs              int
	BatchTimeout              time.Duration
}

// Cipher encrypts files at rest.
type Cipher int

const (
	CipherDefault Cipher = iota
	CipherChaCha
	CipherAES
)

// TPM unseals the encryption key with a trusted platform module.
type TPM struct {
	KeysFile           string
	EncryptionPassword string
	SRKPassword        string
	PCR                int
	Cipher             Cipher
}
