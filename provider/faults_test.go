package provider_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

const (
	// sampledFaults is how many lives of resources are struck unless FAULTS says otherwise.
	sampledFaults = 3
	// faultPatience is after what time a command is interrupted that goes on trying.
	faultPatience = 8 * time.Second
	// faultLimit is when a command must have ended at the latest.
	faultLimit = 90 * time.Second
)

// victim is a resource whose calls are struck.
type victim struct {
	typeName, first, second string // its arguments at first, and when it is changed
	inAWS                   bool
	exists                  func(ctx context.Context, name string) bool
	remove                  func(t *testing.T, name string)
}

func customVictim(typeName, first, second string, kind schema.GroupVersionResource) victim {
	return victim{
		typeName: typeName, first: first, second: second,
		exists: func(ctx context.Context, name string) bool {
			_, err := objects.Resource(kind).Get(ctx, name, metav1.GetOptions{})
			return err == nil
		},
		remove: func(t *testing.T, name string) { t.Helper(); remove(t, kind, name) },
	}
}

func victims() []victim {
	hasRole := func(ctx context.Context, name string) bool {
		_, err := roles.GetRole(ctx, &iam.GetRoleInput{RoleName: aws.String(name)})
		return err == nil
	}
	hasPods := func(ctx context.Context, name string) bool { // an association may outlive its role
		role, _, err := podRole("packhorse", "packhorse-agent")
		return hasRole(ctx, name) || err == nil && strings.HasSuffix(role, "/"+name)
	}
	hasNodes := func(ctx context.Context, name string) bool {
		_, err := roles.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: aws.String(name)})
		return hasRole(ctx, name) || err == nil
	}
	dropRole := func(t *testing.T, name string) {
		t.Helper()
		if _, err := roles.DeleteRole(t.Context(), &iam.DeleteRoleInput{RoleName: aws.String(name)}); err != nil {
			t.Fatal(err)
		}
	}
	return []victim{
		customVictim("packhorse_provisioner", "weight = 1", "weight = 2\n limits = { cpu = \"10\" }", api.ProvisionerGVR),
		customVictim("packhorse_node_profile", `subnet_selector = { a = "b" }`, `subnet_selector = { a = "c" }`, api.NodeTemplateGVR),
		{"packhorse_node_role", `tags = { a = "b" }`, `tags = { a = "c" }`, true, hasNodes, dropRole},
		{"packhorse_irsa_role", agentAccount + "\n identity = \"pod-identity\"", agentAccount + "\n identity = \"pod-identity\"\n tags = { a = \"b\" }", true, hasPods, dropRole},
		{"packhorse_interruption_queue", `tags = { a = "b" }`, `tags = { a = "c" }`, true,
			func(ctx context.Context, name string) bool {
				_, err := queues.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String(name)})
				return err == nil
			},
			func(t *testing.T, name string) {
				t.Helper()
				out, err := queues.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String(name)})
				if err == nil {
					_, err = queues.DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: out.QueueUrl})
				}
				if err != nil {
					t.Fatal(err)
				}
			}},
	}
}

// setting reads a number from the environment.
func setting(t *testing.T, name string, otherwise int) int {
	t.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv(name), strconv.Itoa(otherwise)))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// TestFaults leads resources through their lives while the API server and AWS hang,
// cut connections, lose answers, are busy, break and answer garbage, and while
// somebody presses Ctrl-C. After each command the state and the cluster agree, or the
// error says what is open; and the next command without a fault mends it.
// `make testacc-faults` runs many; FAULTS and SEED say how many, and which.
func TestFaults(t *testing.T) {
	seed := setting(t, "SEED", 1)
	all := victims()
	for i := range setting(t, "FAULTS", sampledFaults) {
		draw := rand.New(rand.NewPCG(uint64(seed), uint64(i))) //nolint:gosec // to be repeatable
		v := all[i%len(all)]
		t.Run(fmt.Sprintf("%d-%s", i, v.typeName), func(t *testing.T) {
			(&life{victim: v, name: fmt.Sprintf("struck-%d-%d", seed, i), draw: draw}).lead(t)
		})
	}
}

// life is that of one resource.
type life struct {
	victim
	name     string
	draw     *rand.Rand
	gate     strikes
	terminal *cli
	head     string
}

func (l *life) lead(t *testing.T) {
	l.begin(t)
	l.declare(t, l.first)
	l.terminal.run(t, "init")
	l.step(t, "create", true, "apply", "-auto-approve")
	l.declare(t, l.second)
	l.step(t, "change", true, "apply", "-auto-approve")
	l.step(t, "plan", true, "plan")
	l.step(t, "destroy", false, "destroy", "-auto-approve")
}

// begin puts the proxies in front of everything.
func (l *life) begin(t *testing.T) {
	t.Helper()
	kubeconfig := inFront(t, l.gate.around)
	l.gate.arm(nil)
	block := fmt.Sprintf("provider \"packhorse\" {\n kubernetes = { config_path = %q }\n plan_checks = %q\n}\n", kubeconfig, []string{"off", "warn"}[l.draw.IntN(2)])
	if l.inAWS {
		block = byName()
	}
	head, _, _ := strings.Cut(requiring(), "provider \"packhorse\"")
	l.head, l.terminal = head+block, newCLI(t, nil)
}

func (l *life) declare(t *testing.T, arguments string) {
	t.Helper()
	l.terminal.write(t, map[string]string{"main.tf": l.head +
		fmt.Sprintf("resource %q \"test\" {\n name = %q\n %s\n timeouts {\n create = \"6s\"\n update = \"6s\"\n delete = \"6s\"\n }\n}\n", l.typeName, l.name, arguments)})
}

// open is what an error says of an object that may be there without being in the state.
var open = regexp.MustCompile(`could[\s│]+not[\s│]+be[\s│]+found[\s│]+out|exists[\s│]+already|import`)

// broken is what no command may say.
var broken = regexp.MustCompile(`panic|nil pointer|Plugin did not respond|plugin crashed|inconsistent (result|final plan)`)

// strike runs a command that a fault strikes, whatever becomes of it.
func (l *life) strike(t *testing.T, what string, args ...string) (title, out string, err error) {
	t.Helper()
	f := &fault{kind: faultKinds[l.draw.IntN(len(faultKinds))], from: l.draw.IntN(8), forever: l.draw.IntN(2) == 0}
	if f.kind == "interrupt" {
		f.forever = false
	}
	title = fmt.Sprintf("%s, %s at request %d, forever %t", what, f.kind, f.from, f.forever)
	out, err = l.terminal.struck(t, &l.gate, f, args...)
	l.gate.arm(nil)
	if broken.MatchString(out) {
		t.Errorf("%s: the provider broke:\n%s", title, out)
	}
	if err != nil && !strings.Contains(out, "Error: ") && !strings.Contains(out, "nterrupt") {
		t.Errorf("%s: it failed without a word: %v\n%s", title, err, out)
	}
	return title, out, err
}

// step runs a command that a fault strikes, looks at what it has left behind, and
// runs it again without one.
func (l *life) step(t *testing.T, what string, there bool, args ...string) {
	t.Helper()
	title, out, err := l.strike(t, what, args...)
	l.gate.settle()
	exists, recorded := l.exists(t.Context(), l.name), l.recorded(t)
	t.Logf("%s: error %v, exists %t, recorded %t", title, err, exists, recorded)
	if err == nil && what != "plan" && (exists != there || recorded != there) {
		t.Errorf("%s: it counts as success, but exists %t, recorded %t, want %t\n%s", title, exists, recorded, there, out)
	}
	if exists && !recorded {
		if !open.MatchString(out) {
			t.Errorf("%s: something is there that the state does not know, and nobody says so:\n%s", title, out)
		}
		l.remove(t, l.name)
	}
	l.terminal.run(t, args...)
	if there {
		wantNoChange(t, title+": the plan after it was mended", l.terminal.plan(t))
	}
}

// struck runs a command while a fault strikes. One that goes on trying is interrupted.
func (c *cli) struck(t *testing.T, gate *strikes, f *fault, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), faultLimit)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, os.Getenv("TF_ACC_TERRAFORM_PATH"), append(args, "-no-color")...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.dir, c.env, &out, &out
	f.interrupt = func() { _ = cmd.Process.Signal(os.Interrupt) } // which fails for one that has ended
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	gate.arm(f)
	patience := time.AfterFunc(faultPatience, f.interrupt)
	defer patience.Stop()
	err := cmd.Wait()
	if ctx.Err() != nil {
		t.Fatalf("terraform %s has not ended within %s of %+v:\n%s", args[0], faultLimit, f, out.String())
	}
	return out.String(), err
}

// A data source that cannot read everything is an error, and not one that has found
// less. That of instance types has a table of its own for where AWS does not answer,
// and says so.
func TestFaultsOfDataSources(t *testing.T) {
	var gate strikes
	gate.arm(nil)
	kubeconfig := inFront(t, gate.around)
	head, _, _ := strings.Cut(requiring(), "provider \"packhorse\"")
	cluster := head + fmt.Sprintf("provider \"packhorse\" {\n kubernetes = { config_path = %q }\n}\n", kubeconfig)
	terminal := newCLI(t, nil)
	for source, block := range map[string]string{
		"packhorse_nodes": cluster, "packhorse_simulation": cluster, "packhorse_instance_types": head + byName(), "packhorse_cluster": head + byName(), "packhorse_discovery": head + byName(),
	} {
		terminal.write(t, map[string]string{"main.tf": block + fmt.Sprintf("data %q \"test\" {\n}\noutput \"found\" {\n value = data.%s.test\n}\n", source, source)})
		terminal.run(t, "init")
		kinds := []string{"hang", "cut", "429", "500", "garbage", "empty"}
		if setting(t, "FAULTS", 0) == 0 {
			kinds = []string{kinds[len(source)%len(kinds)], "empty"}
		}
		for _, kind := range kinds {
			f := &fault{kind: kind, from: (len(source) + 3) % 4, forever: true}
			out, err := terminal.struck(t, &gate, f, "plan")
			quiet := err == nil && gate.requests() > f.from && !strings.Contains(out, "AWS was not asked")
			if quiet || broken.MatchString(out) {
				t.Errorf("%s, %s at request %d: error %v:\n%s", source, kind, f.from, err, out)
			}
			gate.arm(nil)
		}
	}
}
