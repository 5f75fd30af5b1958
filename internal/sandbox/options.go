package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/plane"
)

// Options says how a sandbox is started. The zero value of everything has a default.
type Options struct {
	Dir          string        // state folder; when empty, a temporary one that Stop removes
	Keep         bool          // leave a temporary state folder behind
	ControlPlane string        // path of the control plane binary; see plane.FindBinary for the default
	Catalogue    []byte        // CSV of instance types with a header row; default the embedded one
	ClusterName  string        // default "packhorse-demo"
	Region       string        // default "eu-west-1"
	BootDelay    time.Duration // from an instance's launch to its kubelet's first request; default 3s
	// MemoryOverhead is the share of a machine's memory that its kubelet does not
	// see, as the hypervisor keeps it; default 0.06.
	MemoryOverhead float64

	// AuditUser is whose requests Audit returns; empty for nobody's.
	AuditUser string

	APIServerPort int // fixed port of the API server; 0 means a free one
	AWSPort       int // fixed port of the AWS endpoints; 0 means a free one
	ControlPort   int // fixed port of the control endpoint; 0 means a free one

	Progress func(line string) // called with each step when it is done
	Logger   hclog.Logger
}

const (
	defaultClusterName    = "packhorse-demo"
	defaultRegion         = "eu-west-1"
	defaultBootDelay      = 3 * time.Second
	defaultMemoryOverhead = 0.06
)

// complete fills in the defaults and finds the control plane binary.
func (o Options) complete() (Options, error) {
	if len(o.Catalogue) == 0 {
		o.Catalogue = offer.EmbeddedCSV()
	}
	if o.MemoryOverhead < 0 || o.MemoryOverhead >= 1 {
		return o, fmt.Errorf("memory overhead %v is not in [0, 1)", o.MemoryOverhead)
	}
	if o.ClusterName == "" {
		o.ClusterName = defaultClusterName
	}
	if o.Region == "" {
		o.Region = defaultRegion
	}
	if o.BootDelay == 0 {
		o.BootDelay = defaultBootDelay
	}
	if o.MemoryOverhead == 0 {
		o.MemoryOverhead = defaultMemoryOverhead
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	var err error
	o.ControlPlane, err = plane.FindBinary(o.ControlPlane)
	return o, err
}

// stateFolder makes the state folder and says whether it is a temporary one.
func (o Options) stateFolder() (dir string, temporary bool, err error) {
	if o.Dir == "" {
		dir, err := os.MkdirTemp("", "packhorse-sandbox-")
		if err != nil {
			return "", false, fmt.Errorf("make a state folder: %w", err)
		}
		return dir, !o.Keep, nil
	}
	dir, err = filepath.Abs(o.Dir)
	if err != nil {
		return "", false, fmt.Errorf("find the state folder: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", false, fmt.Errorf("make the state folder: %w", err)
	}
	return dir, false, nil
}
