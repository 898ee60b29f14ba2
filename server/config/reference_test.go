package config

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"godwit/conf"
)

var update = flag.Bool("update", false, "write docs/configuration.md anew")

const referencePage = "../../docs/configuration.md"

// TestReference fails when the page is not what the declarations give; with -update it writes the page.
func TestReference(t *testing.T) {
	page := Reference()
	if *update {
		if err := os.MkdirAll(filepath.Dir(referencePage), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(referencePage, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(referencePage)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != page {
		t.Error("docs/configuration.md is stale: run go test ./server/config -run TestReference -update")
	}
}

func TestReferenceIsComplete(t *testing.T) {
	names := make(map[string]bool)
	for _, s := range Sections() {
		if names[s.Name] || s.Doc == "" {
			t.Errorf("section %q is there twice, or without a sentence", s.Name)
		}
		names[s.Name] = true
	}
	for _, s := range Sections() {
		for _, l := range s.Lines {
			if l.Doc == "" || l.Type == "" || !strings.HasSuffix(l.Doc, ".") && !strings.HasSuffix(l.Doc, ")") {
				t.Errorf("%s.%s lacks a sentence or a type", s.Name, l.Key)
			}
			if l.Block != "" && !names[l.Block] {
				t.Errorf("%s.%s points to block %q, which is not on the page", s.Name, l.Key, l.Block)
			}
		}
	}
}

// TestDocumentedKeys holds the page to the keys of nats-server: each of them is declared.
func TestDocumentedKeys(t *testing.T) {
	want := map[string]string{
		"Top level": "listen port host net server_name client_advertise debug trace trace_verbose trace_headers max_traced_msg_len " +
			"logtime logtime_utc log_file logfile log_size_limit logfile_size_limit log_max_num logfile_max_num syslog remote_syslog " +
			"pid_file pidfile ports_file_dir prof_port prof_block_rate http https http_port monitor_port https_port http_base_path " +
			"max_connections max_conn max_subscriptions max_subs max_sub_tokens max_subscription_tokens max_control_line max_payload " +
			"max_pending ping_interval ping_max write_deadline write_timeout no_fast_producer_stall lame_duck_duration " +
			"lame_duck_grace_period max_closed_clients no_header_support disable_sublist_cache no_sublist_cache proxy_protocol " +
			"proxies connect_error_reports reconnect_error_reports server_tags server_metadata feature_flags tls allow_non_tls ocsp " +
			"ocsp_cache authorization accounts mappings maps system_account system no_system_account no_system no_sys_acc " +
			"no_auth_user operator operators root roots root_operator root_operators resolver account_resolver accounts_resolver " +
			"resolver_tls resolver_preload resolver_pinned_accounts trusted trusted_keys default_sentinel default_js_domain " +
			"jetstream store_dir storedir cluster gateway leafnodes leaf websocket ws mqtt",
		"jetstream": "enabled enable store_dir store storedir max_memory_store max_mem_store max_mem max_file_store max_file domain " +
			"sync_interval sync strict encryption_key key ek prev_encryption_key prev_key prev_ek cipher tpm extension_hint " +
			"unique_tag limits max_outstanding_catchup max_buffered_size meta_compact_size max_buffered_msgs request_queue_limit " +
			"info_queue_limit meta_compact meta_compact_sync max_concurrent_io",
		"tls": "cert_file key_file ca_file certs certificates insecure verify verify_and_map verify_cert_and_check_known_urls " +
			"allow_insecure_cipher_suites cipher_suites curve_preferences min_version timeout connection_rate_limit pinned_certs " +
			"handshake_first first immediate ocsp_peer cert_store cert_match_by cert_match ca_certs_match cert_match_skip_invalid",
		"cluster": "name listen port host net authorization routes tls cluster_advertise advertise no_advertise connect_retries " +
			"connect_backoff permissions pool_size accounts compression ping_interval ping_max write_deadline write_timeout",
		"gateway": "name listen port host net authorization tls advertise connect_retries connect_backoff gateways " +
			"reject_unknown_cluster reject_unknown write_deadline write_timeout",
		"leafnodes": "listen port host net authorization remotes reconnect reconnect_delay reconnect_interval dial_timeout tls " +
			"advertise leafnode_advertise no_advertise min_version minimum_version compression isolate_leafnode_interest isolate " +
			"write_deadline write_timeout",
		"remote": "url urls account local credentials creds nkey seed tls hub deny_imports deny_import deny_exports deny_export " +
			"no_randomize dont_randomize ws_compression ws_compress websocket_compress websocket_compression ws_no_masking " +
			"websocket_no_masking jetstream_cluster_migrate js_cluster_migrate isolate_leafnode_interest isolate request_isolation " +
			"compression first_info_timeout dial_timeout disabled ignore_discovered_servers proxy",
		"websocket": "listen port host net advertise no_tls tls same_origin allowed_origins allowed_origin allow_origins allow_origin " +
			"origins origin handshake_timeout compression compress authorization authentication jwt_cookie user_cookie pass_cookie " +
			"token_cookie no_auth_user headers ping_interval",
		"mqtt": "listen port host net tls authorization authentication no_auth_user ack_wait ackwait js_api_timeout api_timeout " +
			"max_ack_pending max_pending max_inflight js_domain stream_replicas consumer_replicas consumer_memory_storage " +
			"consumer_inactive_threshold consumer_auto_cleanup reject_qos2_publish downgrade_qos2_subscribe",
	}
	found := make(map[string]map[string]bool)
	for _, s := range Sections() {
		found[s.Name] = make(map[string]bool)
		for _, l := range s.Lines {
			for _, k := range append([]string{l.Key}, l.Aliases...) {
				found[s.Name][k] = true
			}
		}
	}
	for block, keys := range want {
		for _, k := range strings.Fields(keys) {
			if !found[block][k] {
				t.Errorf("%s: key %q is not declared", block, k)
			}
		}
	}
	if r := conf.Reference("t", "i", nil); r != "# t\n\ni\n" {
		t.Errorf("an empty page is %q", r)
	}
}
