package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
)

func execute(t *testing.T, cmd *cobra.Command, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const simpleProvisioner = `
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: default}
spec:
  requirements:
    - {key: node.kubernetes.io/instance-type, operator: In, values: [m5.large, m5.xlarge]}
`

const simpleDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, resources: {requests: {cpu: 900m, memory: 1Gi}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: huge}
spec:
  containers: [{name: huge, resources: {requests: {cpu: "500"}}}]
`

func TestSimulateJSON(t *testing.T) {
	out, err := execute(t, simulateCommand(), "--region", "us-east-1", "-o", "json",
		"-f", file(t, "provisioner.yaml", simpleProvisioner), file(t, "web.yaml", simpleDeployment))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var r explain.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	if r.Pods != 4 || r.Placed != 3 || len(r.Unplaced) != 1 || r.Unplaced[0].Pod != "default/huge" || !strings.Contains(r.Unplaced[0].Reason, "500 CPU") {
		t.Errorf("%d of %d placed; %+v", r.Placed, r.Pods, r.Unplaced)
	}
	// Three pods of 900m need an m5.large (1930m) and a half: one m5.xlarge costs
	// as much as two m5.large, and fewer machines win ties.
	if len(r.Machines) != 1 || r.Machines[0].InstanceType != "m5.xlarge" || r.HourlyPrice != 0.192 {
		t.Errorf("bought %+v for %v", r.Machines, r.HourlyPrice)
	}
	if r.Proof == nil || r.LowerBound <= 0 || r.LowerBound > r.HourlyPrice || r.Seconds <= 0 {
		t.Errorf("bound %v, %v seconds", r.LowerBound, r.Seconds)
	}
}

func TestSimulateWithoutProvisioner(t *testing.T) {
	out, err := execute(t, simulateCommand(), "--region", "us-east-1", "-f", file(t, "web.yaml", simpleDeployment))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"3 of 4 pods placed", `one named "default" with the defaults of the API is assumed`} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
}

// Not every price in the built-in table was published for its region.
func TestSimulateNotesEstimates(t *testing.T) {
	estimated := file(t, "provisioner.yaml", strings.ReplaceAll(simpleProvisioner, "m5", "c8a"))
	web := file(t, "web.yaml", simpleDeployment)
	const note = "the catalogue has no published price for c8a."
	for region, want := range map[string]bool{"eu-west-1": true, "us-east-1": false} {
		out, err := execute(t, simulateCommand(), "--region", region, "-f", estimated, "-f", web)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out, note); got != want {
			t.Errorf("in %s, a note about estimates: %v, want %v\n%s", region, got, want, out)
		}
	}
}

// A DaemonSet that fits on no machine is noted, unless it is not meant for the Provisioner.
func TestSimulateNotesDaemonSetsThatFitNowhere(t *testing.T) {
	provisioner, web := file(t, "provisioner.yaml", simpleProvisioner), file(t, "web.yaml", simpleDeployment)
	const note = "DaemonSet default/heavy fits on no machine of provisioner default, where no room is kept for it: its pod needs 1000 CPU, and the nearest instance type, m5."
	for selector, want := range map[string]bool{"{}": true, "{kubernetes.io/arch: arm64}": false, "{team: other}": false} {
		heavy := file(t, "heavy.yaml", `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: heavy}
spec:
  selector: {matchLabels: {app: heavy}}
  template: {metadata: {labels: {app: heavy}}, spec: {nodeSelector: `+selector+`, containers: [{name: a, image: a, resources: {requests: {cpu: 1000}}}]}}
`)
		out, err := execute(t, simulateCommand(), "--region", "us-east-1", "-f", provisioner, "-f", web, "-f", heavy)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out, note); got != want {
			t.Errorf("selector %s: a note: %v, want %v\n%s", selector, got, want, out)
		}
	}
}

// Every form shows the same decision.
func TestSimulateForms(t *testing.T) {
	provisioner, web := file(t, "provisioner.yaml", simpleProvisioner), file(t, "web.yaml", simpleDeployment)
	for form, wants := range map[string][]string{
		"text":     {"3 of 4 pods placed", "m5.xlarge"},
		"markdown": {"3 of 4 pods placed", "| m5.xlarge |"},
		"html":     {"<!doctype html>", "m5.xlarge, $0.1920<", "default/web: 3 of 0.9 CPU, 1 GiB", "default/huge"},
	} {
		t.Run(form, func(t *testing.T) {
			out, err := execute(t, simulateCommand(), "--region", "us-east-1", "-o", form, "-f", provisioner, web)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range wants {
				if !strings.Contains(out, want) {
					t.Errorf("the output lacks %q:\n%s", want, out)
				}
			}
		})
	}
}

// Zones and types of another region are named as such, and what to do about them.
func TestSimulateTellsOfOtherRegions(t *testing.T) {
	elsewhere := file(t, "provisioner.yaml", `
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: elsewhere}
spec:
  requirements:
    - {key: topology.kubernetes.io/zone, operator: In, values: [eu-west-1a]}
    - {key: node.kubernetes.io/instance-type, operator: In, values: [p3.8xlarge, m5.large]}
`)
	out, err := execute(t, simulateCommand(), "--region", "us-east-1", "-f", elsewhere, "-f", file(t, "web.yaml", simpleDeployment))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"zone eu-west-1a is in eu-west-1, not in us-east-1", "--region", "p3.8xlarge exists, but not in us-east-1"} {
		if !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
}

const simpleNode = `
apiVersion: v1
kind: Node
metadata:
  name: old
  creationTimestamp: "2024-01-01T00:00:00Z"
  labels:
    karpenter.sh/provisioner-name: default
    node.kubernetes.io/instance-type: m5.xlarge
    topology.kubernetes.io/region: us-east-1
    topology.kubernetes.io/zone: us-east-1a
spec: {providerID: "aws:///us-east-1a/i-1"}
status:
  capacity: {cpu: "4", memory: 16Gi, pods: "58"}
`

// A node that does not come up is given up after the time after which the agent does.
func TestSimulateHasTheAgentsTimeouts(t *testing.T) {
	lost := simpleNode + `  conditions: [{type: Ready, status: "False", lastTransitionTime: "2024-01-01T00:00:00Z"}]
`
	out, err := execute(t, simulateCommand(), "--region", "us-east-1", "-f", file(t, "provisioner.yaml", simpleProvisioner),
		"-f", file(t, "node.yaml", lost), "-f", file(t, "web.yaml", simpleDeployment))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1 machine to buy", "Nodes to remove:"} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
}

// Nodes say which region is meant where nothing else does.
func TestSimulateTakesTheRegionOfTheNodes(t *testing.T) {
	t.Setenv("AWS_REGION", "")
	const note = "region eu-west-1 has nodes (1), but types and prices are those of us-east-1; choose another region with --region"
	provisioner := file(t, "provisioner.yaml", simpleProvisioner)
	node := file(t, "node.yaml", strings.ReplaceAll(simpleNode, "us-east-1", "eu-west-1"))
	for name, c := range map[string]struct {
		args []string
		zone string
		note bool
	}{
		"nothing is named": {nil, "eu-west-1", false},
		"the region":       {[]string{"--region", "eu-west-1"}, "eu-west-1", false},
		"another region":   {[]string{"--region", "us-east-1"}, "us-east-1", true},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := execute(t, simulateCommand(), append(c.args, "-f", provisioner, node, file(t, "web.yaml", strings.ReplaceAll(simpleDeployment, "replicas: 3", "replicas: 30")))...)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out, " in "+c.zone) || strings.Contains(out, note) != c.note {
				t.Errorf("want a machine in %s, note %v:\n%s", c.zone, c.note, out)
			}
		})
	}
}

// Nodes have what the agent's options of the same names give them.
func TestSimulateWithOptionsOfTheAgent(t *testing.T) {
	provisioner := file(t, "provisioner.yaml", simpleProvisioner)
	branched := file(t, "pod.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, resources: {requests: {vpc.amazonaws.com/pod-eni: 1}}}]}\n")
	for placed, args := range map[string][]string{"0 of 1 pod placed": nil, "1 of 1 pod placed": {"--pod-eni"}} {
		out, err := execute(t, simulateCommand(), append(args, "--region", "us-east-1", "-f", provisioner, "-f", branched)...)
		if err != nil || !strings.Contains(out, placed) {
			t.Errorf("%v: %v, want %q:\n%s", args, err, placed, out)
		}
	}
	if _, err := execute(t, simulateCommand(), "--reserved-enis=99", "-f", provisioner); err == nil || !strings.Contains(err.Error(), "--reserved-enis is 99") {
		t.Errorf("error = %v", err)
	}
}

const simpleList = "apiVersion: v1\nkind: List\nitems: []\n"

const simpleMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"

// A file with nothing to look at is noted where others hold something.
func TestSimulateNotesFilesWithNothing(t *testing.T) {
	rest, list := file(t, "map.yaml", simpleMap), file(t, "list.yaml", simpleList)
	out, err := execute(t, simulateCommand(), "-f", file(t, "provisioner.yaml", simpleProvisioner), "-f", rest, "-f", list)
	for _, want := range []string{rest + ": ignored: ConfigMap a", list + ": holds an empty List"} {
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%v, want %q:\n%s", err, want, out)
		}
	}
}

// Pods that surge moves are not kept by a PodDisruptionBudget, with and without the status of their Deployment.
func TestSimulateSurges(t *testing.T) {
	const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {packhorse.io/surge: "SURGE"}}
spec: {replicas: 2, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: []}}}
`
	const budget = `
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: "100%", selector: {matchLabels: {app: web}}}
`
	const ready = `
  conditions: [{type: Ready, status: "True", lastTransitionTime: "2024-01-01T00:00:00Z"}]
---
apiVersion: v1
kind: Pod
metadata:
  name: web-old
  creationTimestamp: "2024-01-01T00:00:00Z"
  labels: {app: web, pod-template-hash: abc}
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-abc, uid: u1, controller: true}]
spec: {nodeName: old, containers: [{name: c, resources: {requests: {cpu: 500m}}}]}
status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
`
	const labels = "  labels:\n"
	one := strings.Replace(simpleNode, labels, labels+`    karpenter.sh/capacity-type: on-demand
    karpenter.sh/initialized: "true"
    kubernetes.io/arch: amd64
    kubernetes.io/os: linux
`, 1) + ready
	nodes := file(t, "nodes.yaml", one+"---"+strings.ReplaceAll(one, "old", "older"))
	provisioner := file(t, "provisioner.yaml", simpleProvisioner+"  consolidation: {enabled: true}\n")
	for text, moves := range map[string]bool{
		strings.Replace(deployment, "SURGE", "true", 1): true,
		strings.Replace(deployment, "SURGE", "true", 1) + "status: {observedGeneration: 1, replicas: 2, updatedReplicas: 2, availableReplicas: 2}\n": true,
		strings.Replace(deployment, "SURGE", "true", 1) + "status: {observedGeneration: 1, replicas: 3, updatedReplicas: 2, availableReplicas: 2}\n": false,
		strings.Replace(deployment, "SURGE", "false", 1): false,
	} {
		out, err := execute(t, simulateCommand(), "--region", "us-east-1", "-f", provisioner, nodes, file(t, "web.yaml", text+budget))
		if err != nil || strings.Contains(out, "Nodes to remove:") != moves {
			t.Errorf("%s: %v, want a node to be removed: %v\n%s", text, err, moves, out)
		}
	}
}

func TestSimulateRefuses(t *testing.T) {
	folder := t.TempDir()
	good, bare := file(t, "provisioner.yaml", simpleProvisioner), file(t, "bare.csv", "\n")
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"nothing":                      {nil, "name files with -f"},
		"a wrong output":               {[]string{"-f", good, "-o", "xml"}, `output "xml" is not known`},
		"a wrong region":               {[]string{"-f", good, "--region", "moon-1"}, "packhorse-agent catalogue --region moon-1 > catalogue.json"},
		"an empty file":                {[]string{"-f", good, "-f", file(t, "empty.yaml", "# nothing\n")}, "the file is empty"},
		"an empty List":                {[]string{"-f", file(t, "list.yaml", simpleList)}, "holds an empty List; the file should hold nodes, pods,"},
		"nothing to see":               {[]string{"-f", file(t, "map.yaml", simpleMap)}, "only ConfigMap a"},
		"a missing file":               {[]string{"-f", "nowhere.yaml"}, "nowhere.yaml"},
		"a folder":                     {[]string{"-f", folder}, "is a directory; name its files"},
		"no catalogue":                 {[]string{"-f", good, "--catalogue", "nowhere.csv"}, "--catalogue: open nowhere.csv: no such file"},
		"a bare catalogue":             {[]string{"-f", good, "--catalogue", bare}, "--catalogue: " + bare + ": the catalogue is empty; save one"},
		"a catalogue that is a folder": {[]string{"-f", good, "--catalogue", folder}, "--catalogue: " + folder + ": is a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := execute(t, simulateCommand(), c.args...); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	good := file(t, "good.yaml", simpleProvisioner+"  providerRef: {name: default}\n")
	if out, err := execute(t, validateCommand(), "-f", good); err != nil || !strings.HasSuffix(out, "checked 1 object: 0 errors, 0 warnings\n") {
		t.Errorf("a good file: %v, %q", err, out)
	}
	out, err := execute(t, validateCommand(), "-v", "-f", good)
	if err != nil || !strings.Contains(out, "# Provisioner default with its defaults") || !strings.Contains(out, "on-demand") {
		t.Errorf("verbose: %v\n%s", err, out)
	}

	bad := file(t, "bad.yaml", strings.Replace(simpleProvisioner, "operator: In", "operator: Inn", 1)+"  weight: 1000\n---\n{kind: Pod")
	out, err = execute(t, validateCommand(), "-f", bad)
	if !errors.Is(err, errFindings) {
		t.Errorf("a bad file: %v", err)
	}
	var places []string
	for line := range strings.Lines(out) {
		place, _, _ := strings.Cut(strings.TrimPrefix(line, bad), ": ")
		if strings.HasPrefix(place, "warning") || strings.HasPrefix(place, "checked") {
			continue
		}
		places = append(places, place)
	}
	// Syntax errors come first, then findings in the order of the file.
	if diff := cmp.Diff([]string{":10", ":7", ":8"}, places); diff != "" {
		t.Errorf("-want +got\n%s\n%s", diff, out)
	}
}

func TestImportNeedsToKnowWhatAndWhere(t *testing.T) {
	root := rootCommand()
	root.SetArgs([]string{"import", "--cluster-name", "prod"})
	if err := root.ExecuteContext(t.Context()); err == nil || err.Error() != "--out and --cluster-name are required" {
		t.Errorf("error = %v", err)
	}
}
