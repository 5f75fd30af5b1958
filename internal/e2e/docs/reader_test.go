package docs

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/sandboxtest"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/stage"
)

// reader is somebody who follows the pages in a shell: with the binaries of a release,
// a cluster called "prod" in eu-west-1, and what each page says that they have.
type reader struct {
	*stage.Stage
	t     *testing.T
	tools string // a folder in the PATH: kubectl, helm, aws
	env   []string
}

// patience bounds each command of a reader.
const patience = 5 * time.Minute

func newReader(t *testing.T) *reader {
	t.Helper()
	t.Parallel()
	st := sandboxtest.Stage(t, sandbox.Options{ClusterName: "prod", Region: "eu-west-1", BootDelay: 500 * time.Millisecond})
	r := &reader{Stage: st, t: t, tools: t.TempDir()}
	r.install()
	return r
}

// install gives the reader the programs that the pages use, by their names.
func (r *reader) install() {
	r.t.Helper()
	bin := filepath.Dir(r.built("packhorse-agent"))
	r.script("kubectl", `exec "`+r.built("controlplane")+`" kubectl "$@"`)
	r.script("helm", `exec "`+filepath.Join(bin, "tools", "helm")+`" "$@"`)
	mirror := r.t.TempDir()
	offered := filepath.Join(mirror, "registry.terraform.io", "packhorse", "packhorse", stage.ProviderVersion, runtime.GOOS+"_"+runtime.GOARCH)
	r.check(os.MkdirAll(offered, 0o700))
	r.check(os.Symlink(r.built("terraform-provider-packhorse"), filepath.Join(offered, "terraform-provider-packhorse_v"+stage.ProviderVersion)))
	config := filepath.Join(mirror, "terraformrc")
	r.check(os.WriteFile(config, fmt.Appendf(nil, "provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", mirror), 0o600))
	home := r.t.TempDir()
	r.env = append(os.Environ(), r.Sandbox.Env()...)
	r.env = append(r.env, "PATH="+strings.Join([]string{r.tools, bin, os.Getenv("PATH")}, string(os.PathListSeparator)), "HOME="+home,
		"KUBECACHEDIR="+home, "TF_CLI_CONFIG_FILE="+config, "TF_IN_AUTOMATION=1", "TF_INPUT=0", "TF_CLI_ARGS=-no-color", "CHECKPOINT_DISABLE=1", "NO_COLOR=1")
}

// in returns the reader as a subtest sees them.
func (r *reader) in(t *testing.T) *reader {
	sub := *r
	sub.t = t
	return &sub
}

func (r *reader) check(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *reader) built(name string) string {
	r.t.Helper()
	path, err := r.Binary(name)
	r.check(err)
	return path
}

// script puts a program into the reader's PATH.
func (r *reader) script(name, text string) {
	r.t.Helper()
	r.check(os.WriteFile(filepath.Join(r.tools, name), []byte("#!/bin/bash\n"+text+"\n"), 0o700)) //nolint:gosec // it has to be executable
}

// admin is the configuration of AWS's clients for the account's administrator.
func (r *reader) admin() aws.Config {
	key, secret := r.Sandbox.Cloud.AdminCredentials()
	return aws.Config{
		Region: r.Sandbox.Region, BaseEndpoint: aws.String(r.Sandbox.AWSEndpoint), Credentials: credentials.NewStaticCredentialsProvider(key, secret, ""),
	}
}

// folder is a working directory of the reader.
type folder struct {
	*reader
	dir string
	env []string // beside the reader's
}

func (r *reader) folder() *folder { return &folder{reader: r, dir: r.t.TempDir()} }

func (f *folder) write(name, text string) {
	f.t.Helper()
	path := filepath.Join(f.dir, filepath.FromSlash(name))
	f.check(os.MkdirAll(filepath.Dir(path), 0o700))
	f.check(os.WriteFile(path, []byte(text), 0o600))
}

// sh runs a snippet of shell, which has to succeed, and returns what it prints.
func (f *folder) sh(script string) string {
	f.t.Helper()
	out, err := f.try(script)
	if err != nil {
		f.t.Fatalf("%s\n%v\n%s", script, err, out)
	}
	return out
}

// fails runs a snippet that has to end with an exit code, and returns what it prints.
func (f *folder) fails(code int, script string) string {
	f.t.Helper()
	out, err := f.try(script)
	exit, ok := err.(*exec.ExitError) //nolint:errorlint // try returns it as it is
	if !ok || exit.ExitCode() != code {
		f.t.Fatalf("%s\nends with %v, want exit code %d\n%s", script, err, code, out)
	}
	return out
}

func (f *folder) try(script string) (string, error) {
	f.t.Helper()
	var out bytes.Buffer
	cmd := exec.CommandContext(f.t.Context(), "bash", "-euo", "pipefail", "-c", script)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = f.dir, slices.Concat(f.reader.env, f.env), &out, &out
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = patience
	err := cmd.Run()
	return out.String(), err
}

// apply applies the folder and holds that a plan right after it changes nothing.
func (f *folder) apply() {
	f.t.Helper()
	f.sh("terraform init && terraform apply -auto-approve")
	f.unchanged()
}

func (f *folder) unchanged() {
	f.t.Helper()
	f.sh("terraform plan -detailed-exitcode")
}

func (f *folder) destroy() {
	f.t.Helper()
	f.sh("terraform destroy -auto-approve")
}
