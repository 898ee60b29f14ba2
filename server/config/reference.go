package config

import (
	"godwit/conf"
	"godwit/server/options"
)

// Reference returns the reference page of all settings, made of their declarations.
func Reference() string {
	return conf.Reference("Configuration",
		"<!-- Made from the declarations in server/config by `go test ./server/config -run TestReference -update`. -->\n\n"+
			"A configuration file is a relaxed form of JSON, the language of NATS. The column *Reload* says what a reload\n"+
			"(SIGHUP) does with a changed setting: it takes effect (yes), the reload is refused and the server needs a\n"+
			"restart (no), or that depends (partly).\n\n"+
			"A *duration* is a string such as `2s`, `1m30s` or `500ms`; a plain number is seconds, with a warning unless\n"+
			"seconds are named as well. A *size* is an integer, which may have a unit: `k`, `m`, `g`, `t` for powers of 1000,\n"+
			"`kb`, `mb`, `gb`, `tb` for powers of 1024. Ports: -1 lets the system choose.",
		Sections())
}

// Sections lists all blocks in the order of the page: every key that a file may have.
func Sections() []conf.Section {
	return []conf.Section{
		topBlock().Section(),
		tlsBlock().Section(),
		certPairBlock().Section(),
		ocspPeerBlock().Section(),
		authorizationBlock().Section(),
		userBlock().Section(),
		permissionsBlock().Section(),
		subjectPermissionBlock(true).Section(),
		responsesBlock().Section(),
		calloutBlock().Section(),
		accountBlock().Section(),
		exportBlock().Section(),
		latencyBlock().Section(),
		importBlock().Section(),
		importSourceBlock("").Section(),
		mappingBlock().Section(),
		accountLimitsBlock().Section(),
		accountJetStreamBlock().Section(),
		msgTraceBlock("msg_trace").Section(),
		quotasBlock().Section(),
		quotaBlock().Section(),
		jetStreamBlock().Section(),
		jsLimitsBlock().Section(),
		batchBlock().Section(),
		tpmBlock().Section(),
		clusterBlock().Section(),
		compressionBlock(options.CompressionFast).Section(),
		gatewayBlock().Section(),
		remoteGatewayBlock().Section(),
		leafBlock().Section(),
		leafAuthBlock().Section(),
		leafUserBlock().Section(),
		remoteBlock().Section(),
		migrateBlock().Section(),
		proxyBlock().Section(),
		proxyTLSBlock().Section(),
		websocketBlock().Section(),
		mqttBlock().Section(),
		listenerAuthBlock().Section(),
		resolverBlock().Section(),
		monitoringLoginBlock().Section(),
		monitoringUserBlock().Section(),
		proxiesBlock().Section(),
		trustedProxyBlock().Section(),
		ocspBlock().Section(),
		ocspCacheBlock().Section(),
	}
}
