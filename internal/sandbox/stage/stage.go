// Package stage sets Packhorse up in a sandbox the way a user would in a real
// cluster: `terraform apply` run with the real CLI and the built provider, and
// the built agent started from its Deployment as a process of its own that has
// nothing but its ServiceAccount's tokens. The demo and the end-to-end tests
// share it.
package stage

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox"
)

// Where the agent lives in the cluster, and the role and instance profile that
// nodes have unless their profile says otherwise.
const (
	Namespace      = "packhorse"
	ServiceAccount = "packhorse-agent"
	NodeRole       = "packhorse-node"
)

// Stage is a sandbox with Packhorse's binaries at hand.
type Stage struct {
	Sandbox *sandbox.Sandbox
	Kube    kubernetes.Interface
	Dynamic dynamic.Interface
	// Options of the agents that StartAgent starts, besides its own.
	Options map[string]string

	root   string   // the repository, for bin/ and examples/
	dir    string   // scratch space
	images sync.Map // paths of binaries by the references of images
}

// New gives access to a running sandbox. It needs the repository's bin/ folder to
// be built.
func New(sb *sandbox.Sandbox) (*Stage, error) {
	root, err := repository()
	if err != nil {
		return nil, err
	}
	cfg := sb.RESTConfig()
	cfg.QPS, cfg.Burst = 1000, 2000
	s := &Stage{Sandbox: sb, root: root, dir: filepath.Join(sb.Dir, "stage")}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make %s: %w", s.dir, err)
	}
	if s.Kube, err = kubernetes.NewForConfig(cfg); err != nil {
		return nil, fmt.Errorf("make a client for %s: %w", sb.Host, err)
	}
	if s.Dynamic, err = dynamic.NewForConfig(cfg); err != nil {
		return nil, fmt.Errorf("make a client for %s: %w", sb.Host, err)
	}
	return s, nil
}

// Binary returns the path of a built binary. A missing one is an error that
// says how to build it.
func (s *Stage) Binary(name string) (string, error) {
	path := filepath.Join(s.root, "bin", name)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%s is not built: run `make build` (%w)", name, err)
	}
	return path, nil
}

// Load has pods of an image run another binary than the one in bin/ of its name.
func (s *Stage) Load(image, binary string) { s.images.Store(image, binary) }

// inImage returns the path of the binary that is in an image.
func (s *Stage) inImage(reference string) (string, error) {
	if path, loaded := s.images.Load(reference); loaded {
		return path.(string), nil
	}
	return s.Binary(imageName(reference))
}

// Example returns the path of a folder or file under examples/.
func (s *Stage) Example(name string) string {
	return filepath.Join(s.root, "examples", filepath.FromSlash(name))
}

// repository finds the checkout: the folder upward of the working directory,
// or of the running binary, that holds this module's go.mod.
func repository() (string, error) {
	starts := []string{"."}
	if exe, err := os.Executable(); err == nil {
		starts = append(starts, filepath.Dir(exe))
	}
	for _, start := range starts {
		dir, err := filepath.Abs(start)
		if err != nil {
			return "", fmt.Errorf("resolve %s: %w", start, err)
		}
		for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			if _, err := os.Stat(filepath.Join(dir, "internal", "sandbox", "stage")); err == nil {
				return dir, nil
			}
		}
	}
	return "", fmt.Errorf("no checkout of Packhorse upward of %v", starts)
}

// platform is the folder name that Terraform expects for a provider binary.
func platform() string { return runtime.GOOS + "_" + runtime.GOARCH }
