package system

import "godwit/server/monitor"

// Imports lists the services of the system account that every other account has without asking, for its description
// in monitoring.
func (s *Service) Imports(account string) []monitor.ImportDetail {
	if s == nil || account == s.system.Name() {
		return nil
	}
	service := func(local, remote string, share bool) monitor.ImportDetail {
		return monitor.ImportDetail{Subject: remote, Account: s.system.Name(), To: local, LocalSubject: local,
			Type: "service", Share: share}
	}
	own := accountPrefix + account
	list := []monitor.ImportDetail{
		service(accountPrefix+"PING.CONNZ", own+".CONNZ", false),
		service(serverPrefix+"PING.CONNZ", own+".CONNZ", false),
		service(accountPrefix+"PING.STATZ", own+".STATZ", false),
		service(userSubject, userPrefix+account+".INFO", true),
	}
	if s.debugEverywhere {
		list = append(list, service(debugSubject, debugSubject, false))
	}
	return list
}
