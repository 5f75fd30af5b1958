package plane

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
)

// AuditEvent is a request to the API server, in the form of its audit log
// (audit.k8s.io/v1). A watch has two: when it begins and when it ends.
type AuditEvent struct {
	Verb       string
	RequestURI string
	ObjectRef  *struct{ APIGroup, Resource, Subresource, Namespace, Name string } // nil for paths such as /version
	// RequestReceivedTimestamp is when the request came.
	RequestReceivedTimestamp time.Time
	User                     struct{ Extra map[string][]string }
	// Annotations say what became of the authorisation, and by which binding.
	Annotations    map[string]string
	ResponseStatus struct {
		Code    int
		Message string
	}
}

// Forbidden reports whether the user had no right to the request.
func (e *AuditEvent) Forbidden() bool {
	return e.Annotations["authorization.k8s.io/decision"] == "forbid"
}

// AllowedBy says by which binding the user had the right, as in
// `RBAC: allowed by ClusterRoleBinding "a" of ClusterRole "b" to …`.
func (e *AuditEvent) AllowedBy() string { return e.Annotations["authorization.k8s.io/reason"] }

// Credential is the id (jti) of the ServiceAccount's token that came with the request,
// by which processes of one user are distinguished.
func (e *AuditEvent) Credential() string {
	for _, id := range e.User.Extra["authentication.kubernetes.io/credential-id"] {
		if token, ok := strings.CutPrefix(id, "JTI="); ok {
			return token
		}
	}
	return ""
}

// auditPolicy notes who did what to which object, without what is in it.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, users: [%q]}
- {level: None}
`

func (s state) writeAuditPolicy(user string) error {
	if err := os.WriteFile(s.path("audit-policy.yaml"), fmt.Appendf(nil, auditPolicy, user), 0o600); err != nil {
		return fmt.Errorf("write the audit policy: %w", err)
	}
	return nil
}

// auditLogMegabytes is more than any run writes: ReadAudit reads a single file.
const auditLogMegabytes = 100_000

func auditFlags(s state) []string {
	return []string{
		"--audit-policy-file=" + s.path("audit-policy.yaml"), "--audit-log-path=" + s.log("audit"),
		fmt.Sprintf("--audit-log-maxsize=%d", auditLogMegabytes),
	}
}

// ReadAudit returns the requests that the control plane with the state folder has
// noted, in order, but for one that is just being written.
func ReadAudit(dir string) ([]AuditEvent, error) {
	file, err := os.Open(state(dir).log("audit"))
	if errors.Is(err, fs.ErrNotExist) {
		_, err = os.Stat(dir) // nothing was noted yet, unless the folder has been removed
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	defer func() { _ = file.Close() }()
	var out []AuditEvent
	for reader := bufio.NewReader(file); ; {
		line, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		var e AuditEvent
		if err = errors.Join(err, json.Unmarshal(line, &e)); err != nil {
			return out, fmt.Errorf("read the audit log: %w", err)
		}
		out = append(out, e)
	}
}
