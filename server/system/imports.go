package system

import (
	"godwit/protocol/jsapi"
	"godwit/server/monitor"
)

// Imports lists the services of the system account that every other account has without asking, for its description
// in monitoring; of the system account itself what it has of its own that way.
func (s *Service) Imports(account string) []monitor.ImportDetail {
	if s == nil {
		return nil
	}
	service := func(local, remote string, share bool) monitor.ImportDetail {
		return monitor.ImportDetail{Subject: remote, Account: s.system.Name(), To: local, LocalSubject: local,
			Type: "service", Share: share}
	}
	user := service(userSubject, userPrefix+account+".INFO", true)
	if account == s.system.Name() {
		return []monitor.ImportDetail{user}
	}
	own := accountPrefix + account
	list := []monitor.ImportDetail{
		service(accountPrefix+"PING.CONNZ", own+".CONNZ", false),
		service(serverPrefix+"PING.CONNZ", own+".CONNZ", false),
		service(accountPrefix+"PING.STATZ", own+".STATZ", false),
		user,
	}
	if s.host.Identity().JetStream {
		list = append(list, service(streamsSubject, streamsSubject, true))
	}
	if s.debugEverywhere {
		list = append(list, service(debugSubject, debugSubject, false))
	}
	return list
}

// streamsSubject is where every account asks for streams.
const streamsSubject = jsapi.Prefix + ">"

// Exports lists the services that the system account offers to all, for its description in monitoring.
func (s *Service) Exports(account string) []monitor.ExportDetail {
	if s == nil || account != s.system.Name() {
		return nil
	}
	service := func(subject, response string) monitor.ExportDetail {
		return monitor.ExportDetail{Subject: subject, Type: "service", ResponseType: response}
	}
	list := []monitor.ExportDetail{
		service(userPrefix+"*.INFO", "Singleton"),
		service(accountPrefix+"*.CONNZ", "Streamed"),
		service(accountPrefix+"*.STATZ", "Streamed"),
		service(debugSubject, "Singleton"),
	}
	if s.host.Identity().JetStream {
		list = append(list, service(streamsSubject, "Singleton"))
	}
	return list
}
