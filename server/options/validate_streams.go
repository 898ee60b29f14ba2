package options

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

func checkJetStream(o *Options) error {
	for _, name := range slices.Sorted(maps.Keys(o.DefaultJSDomains)) {
		if err := checkDefaultDomain(o, name); err != nil {
			return err
		}
	}
	if !o.JetStream.Enabled {
		return nil
	}
	if strings.ContainsAny(o.JetStream.Domain, ".*>") {
		return ErrJSDomain
	}
	if o.Cluster.Port != 0 || o.Gateway.Name != "" {
		if o.ServerName == "" {
			return ErrJSServerName
		}
		if o.Cluster.Name == "" && o.Gateway.Name == "" {
			return ErrJSClusterName
		}
	}
	return nil
}

// checkDefaultDomain checks an account of default_js_domain.
func checkDefaultDomain(o *Options, name string) error {
	if o.OperatorMode() {
		if name == o.SystemAccount {
			return fmt.Errorf("system account %q can not be in default_js_domain", name)
		}
		return nil
	}
	if name == o.SystemAccount && !o.NoSystemAccount {
		return fmt.Errorf("system account %q can not be in default_js_domain", name)
	}
	if len(o.Accounts) == 0 {
		return nil
	}
	i := slices.IndexFunc(o.Accounts, func(a *Account) bool { return a.Name == name })
	switch {
	case i < 0 && name != DefaultGlobalAccount:
		return fmt.Errorf("in non operator mode, `default_js_domain` references non existing account %q", name)
	case i >= 0 && o.Accounts[i].JetStream != nil && o.JetStream.Enabled:
		return fmt.Errorf("default_js_domain contains account name %q with enabled JetStream", name)
	}
	return nil
}
