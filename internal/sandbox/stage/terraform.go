package stage

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// ProviderVersion is the version under which the built provider is offered to Terraform.
const ProviderVersion = "0.1.0"

// Workspace is a Terraform working directory whose `terraform init` finds the
// built provider on disk and downloads nothing.
type Workspace struct {
	Dir string

	stage *Stage
}

// Workspace copies a configuration from source and puts the provider beside it.
func (s *Stage) Workspace(name, source string) (*Workspace, error) {
	w := &Workspace{Dir: filepath.Join(s.dir, name), stage: s}
	if err := os.CopyFS(w.Dir, os.DirFS(source)); err != nil {
		return nil, fmt.Errorf("copy %s: %w", source, err)
	}
	provider, err := s.Binary("terraform-provider-packhorse")
	if err != nil {
		return nil, err
	}
	if err := w.Offer(ProviderVersion, provider); err != nil {
		return nil, err
	}
	// An empty CLI configuration keeps the user's own out of the way.
	return w, os.WriteFile(filepath.Join(w.Dir, "terraformrc"), nil, 0o600)
}

// Offer puts a version of the provider where `terraform init` finds it.
func (w *Workspace) Offer(version, provider string) error {
	plugins := filepath.Join(w.Dir, "terraform.d", "plugins", "registry.terraform.io", "packhorse", "packhorse", version, platform())
	if err := os.MkdirAll(plugins, 0o700); err != nil {
		return fmt.Errorf("make %s: %w", plugins, err)
	}
	if err := os.Symlink(provider, filepath.Join(plugins, "terraform-provider-packhorse_v"+version)); err != nil {
		return fmt.Errorf("offer the provider to terraform: %w", err)
	}
	return nil
}

// Run runs terraform with the sandbox's environment. Its output goes to out as
// it comes; an error carries the standard error's text.
func (w *Workspace) Run(ctx context.Context, out io.Writer, args ...string) error {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "terraform", args...)
	cmd.Dir = w.Dir
	cmd.Env = append(os.Environ(), w.stage.Sandbox.Env()...)
	cmd.Env = append(cmd.Env, "TF_CLI_CONFIG_FILE="+filepath.Join(w.Dir, "terraformrc"), "TF_IN_AUTOMATION=1", "TF_INPUT=0", "CHECKPOINT_DISABLE=1")
	cmd.Stdout, cmd.Stderr = out, &stderr
	// Terraform ends tidily on an interrupt, so that state is not lost.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("terraform %s: %w\n%s", args[0], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return nil
}

// Output returns the string value of one output.
func (w *Workspace) Output(ctx context.Context, name string) (string, error) {
	var out bytes.Buffer
	if err := w.Run(ctx, &out, "output", "-json", name); err != nil {
		return "", err
	}
	var value string
	if err := json.Unmarshal(out.Bytes(), &value); err != nil {
		return "", fmt.Errorf("read the output %s: %w", name, err)
	}
	return value, nil
}
