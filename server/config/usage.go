package config

import (
	"fmt"
	"strings"
)

// Usage returns the help about the command line of the program called name.
func Usage(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nUsage: %s [options]\n", name)
	for _, group := range flagGroups() {
		fmt.Fprintf(&b, "\n%s:\n", group.title)
		for _, def := range group.flags {
			var names []string
			for _, n := range def.names {
				dash := "--"
				if len(n) <= 3 && strings.ToLower(n) != "net" && n != "log" && n != "pid" && n != "tls" {
					dash = "-"
				}
				names = append(names, dash+n)
			}
			head := "    " + strings.Join(names, ", ")
			if def.arg != "" {
				head += " <" + def.arg + ">"
			}
			fmt.Fprintf(&b, "%-44s %s\n", head, def.doc)
		}
	}
	b.WriteString("\nOne dash or two are the same. A flag's value may follow it or an equals sign; a boolean needs the\n" +
		"equals sign to be false. Flags win over the configuration file.\n")
	if name == Godwit {
		b.WriteString("\nWithout a configuration file streams are on, and kept in ./godwit-data.\n")
	}
	return b.String()
}

// TLSHelp returns the help about TLS.
func TLSHelp() string {
	return `
TLS of the client listener is configured by the tls block of a configuration file:

    tls: {
        cert_file: "./certs/server-cert.pem"
        key_file:  "./certs/server-key.pem"
        ca_file:   "./certs/ca.pem"    # signs the certificates of clients
        verify:    true                # ask clients for a certificate
        timeout:   2                   # seconds for the handshake
    }

or by the flags --tlscert, --tlskey, --tlscacert and --tlsverify. Cipher suites and key exchanges can be
chosen with cipher_suites and curve_preferences; the reference of the configuration lists all keys.
`
}
