package provider_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"

	"github.com/packhorse-io/terraform-provider-packhorse/provider"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/cmd/terraform-provider-packhorse/platform"
)

// address is the full name of a provider, which depends on the engine's registry.
func address(source string) string {
	return cmp.Or(os.Getenv("TF_ACC_PROVIDER_HOST"), "registry.terraform.io") + "/" + source
}

// cli drives the Terraform command in a folder of its own, with providers that
// are served by this process.
type cli struct {
	dir string
	env []string
	// cpu is the processor time of all commands so far, with that of the providers
	// that they have started.
	cpu time.Duration
}

// attachment is how Terraform is told where a provider listens.
type attachment struct {
	Protocol        string
	ProtocolVersion int
	Pid             int
	Test            bool
	Addr            struct{ Network, String string }
}

// newCLI serves the provider, and others by their sources.
func newCLI(t testing.TB, others map[string]func() tfprotov6.ProviderServer) *cli {
	t.Helper()
	ours := provider.NewServer("test", platform.Connect)
	attached := map[string]attachment{address("packhorse/packhorse"): attach(t, address("packhorse/packhorse"), ours)}
	for source, server := range others {
		attached[address(source)] = attach(t, address(source), server)
	}
	raw, err := json.Marshal(attached)
	if err != nil {
		t.Fatal(err)
	}
	return &cli{dir: t.TempDir(), env: append(os.Environ(), "TF_REATTACH_PROVIDERS="+string(raw), "TF_IN_AUTOMATION=1", "TF_INPUT=0")}
}

func attach(t testing.TB, name string, server func() tfprotov6.ProviderServer) attachment {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	config, closed := make(chan *plugin.ReattachConfig), make(chan struct{})
	go func() {
		err := tf6server.Serve(name, server, tf6server.WithDebug(ctx, config, closed), tf6server.WithoutLogStderrOverride(),
			tf6server.WithGoPluginLogger(hclog.NewNullLogger()))
		if err != nil {
			t.Errorf("serve %s: %v", name, err)
		}
	}()
	t.Cleanup(func() { stop(); <-closed })
	at := <-config
	out := attachment{Protocol: string(at.Protocol), ProtocolVersion: at.ProtocolVersion, Pid: at.Pid, Test: at.Test}
	out.Addr.Network, out.Addr.String = at.Addr.Network(), at.Addr.String()
	return out
}

// write puts files into the folder.
func (c *cli) write(t testing.TB, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// run runs a command that has to succeed and returns what it prints.
func (c *cli) run(t testing.TB, args ...string) string {
	t.Helper()
	out, err := c.try(t, args...)
	if err != nil {
		t.Fatalf("terraform %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (c *cli) try(t testing.TB, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), os.Getenv("TF_ACC_TERRAFORM_PATH"), append(args, "-no-color")...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.dir, c.env, &out, &out
	start := time.Now()
	err := cmd.Run()
	if cmd.ProcessState != nil {
		c.cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	t.Logf("terraform %s took %s", args[0], time.Since(start).Round(10*time.Millisecond))
	return out.String(), err
}

// change is what a plan does to one resource.
type change struct {
	Address  string `json:"address"`
	Previous string `json:"previous_address"`
	Change   struct {
		Actions       []string       `json:"actions"`
		Importing     map[string]any `json:"importing"`
		Before, After map[string]any
	} `json:"change"`
}

// plan plans and returns what would be done to which resource.
func (c *cli) plan(t testing.TB, args ...string) []change {
	t.Helper()
	c.run(t, append([]string{"plan", "-out=plan.bin"}, args...)...)
	var shown struct {
		Changes []change `json:"resource_changes"`
	}
	if err := json.Unmarshal([]byte(c.run(t, "show", "-json", "plan.bin")), &shown); err != nil {
		t.Fatal(err)
	}
	return shown.Changes
}

// wantNoChange fails for each resource that a plan would change.
func wantNoChange(t testing.TB, what string, changes []change) {
	t.Helper()
	for _, ch := range changes {
		if len(ch.Change.Actions) != 1 || ch.Change.Actions[0] != "no-op" {
			t.Errorf("%s: %s: %v\n%s", what, ch.Address, ch.Change.Actions, difference(ch))
		}
	}
}

func difference(ch change) string {
	var lines []string
	for name, after := range ch.Change.After {
		was, now := fmt.Sprint(ch.Change.Before[name]), fmt.Sprint(after)
		if was != now {
			lines = append(lines, fmt.Sprintf("  %s: %s → %s", name, was, now))
		}
	}
	return strings.Join(lines, "\n")
}

// argumentsOf lists the paths of everything that can be set in the resources,
// each below the name of its type.
func argumentsOf(t testing.TB, typeNames ...string) (out []string) {
	t.Helper()
	server, err := factories()["packhorse"]()
	if err != nil {
		t.Fatal(err)
	}
	schemas := schemasOf(t, server)
	var walk func(at string, attributes []*tfprotov6.SchemaAttribute)
	walk = func(at string, attributes []*tfprotov6.SchemaAttribute) {
		for _, a := range attributes {
			if !a.Required && !a.Optional {
				continue
			}
			out = append(out, at+"."+a.Name)
			if a.NestedType != nil {
				walk(at+"."+a.Name, a.NestedType.Attributes)
			}
		}
	}
	for _, name := range typeNames {
		walk(name, schemas.ResourceSchemas[name].Block.Attributes)
	}
	return out
}
