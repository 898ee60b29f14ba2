package monitor

import "time"

// AccountzOptions are the options of /accountz.
type AccountzOptions struct {
	Account string `json:"account"`
}

// Accountz is the answer of /accountz: the names of all accounts, or the details of one.
type Accountz struct {
	ID            string         `json:"server_id"`
	Now           time.Time      `json:"now"`
	SystemAccount string         `json:"system_account,omitempty"`
	Accounts      []string       `json:"accounts,omitempty"`
	Account       *AccountDetail `json:"account_detail,omitempty"`
}

// AccountDetail describes an account.
type AccountDetail struct {
	AccountName  string                  `json:"account_name"`
	LastUpdate   time.Time               `json:"update_time"`
	IsSystem     bool                    `json:"is_system,omitempty"`
	Expired      bool                    `json:"expired"`
	Complete     bool                    `json:"complete"`
	JetStream    bool                    `json:"jetstream_enabled"`
	LeafCnt      int                     `json:"leafnode_connections"`
	ClientCnt    int                     `json:"client_connections"`
	SubCnt       uint32                  `json:"subscriptions"`
	Mappings     map[string][]MapDest    `json:"mappings,omitempty"` // by source subject
	Exports      []ExportDetail          `json:"exports,omitempty"`
	Imports      []ImportDetail          `json:"imports,omitempty"`
	JWT          string                  `json:"jwt,omitempty"`
	IssuerKey    string                  `json:"issuer_key,omitempty"`
	NameTag      string                  `json:"name_tag,omitempty"`
	Tags         []string                `json:"tags,omitempty"`
	Claim        any                     `json:"decoded_jwt,omitempty"`
	Validations  []ValidationIssue       `json:"validation_result_jwt,omitempty"`
	RevokedUsers map[string]time.Time    `json:"revoked_user,omitempty"`
	Sublist      *SublistStats           `json:"sublist_stats,omitempty"`
	Responses    map[string]ImportDetail `json:"responses,omitempty"` // by reply subject
	Quota        *QuotaDetail            `json:"quota,omitempty"`
}

// MapDest is one destination of a subject mapping.
type MapDest struct {
	Subject string `json:"subject"`
	Weight  uint8  `json:"weight"` // cumulative over the destinations, as they are looked up
	Cluster string `json:"cluster,omitempty"`
}

// ExportDetail describes an export.
type ExportDetail struct {
	Name                 string               `json:"name,omitempty"`
	Subject              string               `json:"subject,omitempty"`
	Type                 string               `json:"type,omitempty"` // "stream" or "service"
	TokenReq             bool                 `json:"token_req,omitempty"`
	Revocations          map[string]int64     `json:"revocations,omitempty"`
	ResponseType         string               `json:"response_type,omitempty"`
	ResponseThreshold    time.Duration        `json:"response_threshold,omitempty"`
	Latency              *ServiceLatency      `json:"service_latency,omitempty"`
	AccountTokenPosition uint                 `json:"account_token_position,omitempty"`
	Advertise            bool                 `json:"advertise,omitempty"`
	AllowTrace           bool                 `json:"allow_trace,omitempty"`
	Description          string               `json:"description,omitempty"`
	InfoURL              string               `json:"info_url,omitempty"`
	ApprovedAccounts     []string             `json:"approved_accounts,omitempty"`
	RevokedAct           map[string]time.Time `json:"revoked_activations,omitempty"`
}

// ServiceLatency says how a service's latency is measured: sampling is percent, or "headers".
type ServiceLatency struct {
	Sampling any    `json:"sampling"`
	Results  string `json:"results"`
}

// ImportDetail describes an import. Of a service, Subject is the exporter's subject; To and LocalSubject are
// both the subject in the importing account.
type ImportDetail struct {
	Name         string              `json:"name,omitempty"`
	Subject      string              `json:"subject,omitempty"`
	Account      string              `json:"account,omitempty"`
	Token        string              `json:"token,omitempty"`
	To           string              `json:"to,omitempty"`
	LocalSubject string              `json:"local_subject,omitempty"`
	Type         string              `json:"type,omitempty"` // "stream" or "service"
	AllowTrace   bool                `json:"allow_trace,omitempty"`
	Invalid      bool                `json:"invalid"`
	Share        bool                `json:"share"`
	Tracking     bool                `json:"tracking"`
	TrackingHdr  map[string][]string `json:"tracking_header,omitempty"`
	Latency      *ServiceLatency     `json:"latency,omitempty"`
	M1           any                 `json:"m1,omitempty"`
}

// ValidationIssue is a remark on an account JWT.
type ValidationIssue struct {
	Description string `json:"description"`
	Blocking    bool   `json:"blocking"`
	TimeCheck   bool   `json:"time_check"`
}

// Accountz shows the accounts. Errors: *AccountError.
func (m *Monitor) Accountz(o AccountzOptions) (*Accountz, error) {
	z := &Accountz{ID: m.src.Identity().ID, Now: m.now().UTC(), SystemAccount: m.src.SystemAccount()}
	if o.Account == "" {
		z.Accounts = m.src.AccountNames()
		return z, nil
	}
	if z.Account = m.src.Account(o.Account); z.Account == nil {
		return nil, &AccountError{o.Account}
	}
	z.Account.LastUpdate = z.Account.LastUpdate.UTC()
	return z, nil
}
