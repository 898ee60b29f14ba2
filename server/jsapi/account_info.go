package jsapi

import "godwit/protocol/jsapi"

// accountInfo answers INFO with what the account uses and may use. The body is ignored.
func accountInfo() *endpoint {
	return &endpoint{words: "INFO", info: true, kind: "account_info_response", serve: func(r *request) (any, *jsapi.Error) {
		st := r.caller.account.Stats()
		return jsapi.AccountInfoResponse{Header: r.head(), AccountStats: &st}, nil
	}}
}
