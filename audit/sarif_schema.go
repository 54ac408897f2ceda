package audit

// The part of SARIF 2.1.0 that is written, under the names of its schema.

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool        sarifTool                `json:"tool"`
	Invocations []sarifInvocation        `json:"invocations"`
	BaseIDs     map[string]sarifArtifact `json:"originalUriBaseIds"`
	ColumnKind  string                   `json:"columnKind"`
	Results     []sarifResult            `json:"results"`
	Properties  map[string]any           `json:"properties"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version,omitempty"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID               string             `json:"id"`
	ShortDescription sarifText          `json:"shortDescription"`
	FullDescription  sarifText          `json:"fullDescription"`
	Help             sarifText          `json:"help"`
	Configuration    sarifConfiguration `json:"defaultConfiguration"`
	Properties       map[string]any     `json:"properties"`
}

type sarifConfiguration struct {
	Level string `json:"level"`
}

type sarifText struct {
	Text     string `json:"text"`
	Markdown string `json:"markdown,omitempty"`
}

type sarifInvocation struct {
	Successful    bool                `json:"executionSuccessful"`
	ExitCode      int                 `json:"exitCode"`
	ExitReason    string              `json:"exitCodeDescription"`
	Notifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
}

type sarifNotification struct {
	Level   string          `json:"level"`
	Message sarifText       `json:"message"`
	Rule    *sarifReference `json:"associatedRule,omitempty"`
}

type sarifReference struct {
	ID string `json:"id"`
}

type sarifResult struct {
	RuleID          string             `json:"ruleId"`
	RuleIndex       int                `json:"ruleIndex"`
	Level           string             `json:"level"`
	Message         sarifText          `json:"message"`
	Locations       []sarifLocation    `json:"locations,omitempty"`
	Related         []sarifLocation    `json:"relatedLocations,omitempty"`
	OccurrenceCount int                `json:"occurrenceCount"`
	Fingerprints    map[string]string  `json:"partialFingerprints"`
	Suppressions    []sarifSuppression `json:"suppressions"` // empty: known not to be suppressed
	Properties      map[string]any     `json:"properties"`
}

type sarifLocation struct {
	ID       int            `json:"id,omitzero"`
	Physical *sarifPhysical `json:"physicalLocation,omitempty"`
	Logical  []sarifLogical `json:"logicalLocations,omitempty"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   *sarifRegion  `json:"region,omitempty"`
}

type sarifArtifact struct {
	URI         string     `json:"uri,omitempty"`
	BaseID      string     `json:"uriBaseId,omitempty"`
	Description *sarifText `json:"description,omitempty"`
}

type sarifRegion struct {
	ByteOffset int64 `json:"byteOffset"` // without a length: the place before that byte
}

type sarifLogical struct {
	Name     string `json:"name"`
	FullName string `json:"fullyQualifiedName"`
	Kind     string `json:"kind"`
}

type sarifSuppression struct {
	Kind          string `json:"kind"`
	Status        string `json:"status"`
	Justification string `json:"justification"`
}
