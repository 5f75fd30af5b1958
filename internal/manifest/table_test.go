package manifest

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

func table(text string) (*Set, error) {
	b := NewBuilder()
	b.addPodsCSV("pods.csv", []byte(text))
	return b.Build()
}

func TestTable(t *testing.T) {
	set, err := table(`cpu_milli,mem_mib,count,gpu,gpu_name,node_selector
500,1024,2,,,
8000,2048,1,4,a100,disk=fast; zone=a
0,0,0,,,
`)
	if err != nil {
		t.Fatal(err)
	}
	pods := set.Snapshot.Pods
	if diff := cmp.Diff([]string{"default/pods-1-0 pending", "default/pods-1-1 pending", "default/pods-2-0 pending"}, podLines(pods)); diff != "" {
		t.Fatalf("-want +got\n%s", diff)
	}
	if pods[0].Template != pods[1].Template {
		t.Error("pods of one row do not share their template")
	}
	want := []*cluster.Template{
		{Namespace: "default", SchedulerName: "default-scheduler", Requests: amount.List{"cpu": 500, "memory": 1 << 30, "pods": 1}},
		{
			Namespace: "default", SchedulerName: "default-scheduler",
			Requests:     amount.List{"cpu": 8000, "memory": 2 << 30, "nvidia.com/gpu": 4, "pods": 1},
			NodeSelector: map[string]string{"disk": "fast", "zone": "a", "karpenter.k8s.aws/instance-gpu-name": "a100"},
		},
	}
	if diff := cmp.Diff(want, []*cluster.Template{pods[0].Template, pods[2].Template}); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestTableProblems(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":              {"", "pods.csv: the table is empty; " + tableForm},
		"missing column":     {"cpu_milli,count\n", "pods.csv:1: the column mem_mib is missing; its first line names columns, with commas between them: cpu_milli, mem_mib, count and optionally gpu, gpu_name, node_selector"},
		"unknown column":     {"cpu,mem_mib,count\n", `pods.csv:1: unknown column "cpu"; ` + tableForm},
		"not a number":       {"cpu_milli,mem_mib,count\n1,1,1\n0.5,1,1\n", `pods.csv:3: cpu_milli: "0.5" is not a whole number from 0 to 1099511627776`},
		"negative":           {"cpu_milli,mem_mib,count\n1,1,-1\n", `pods.csv:2: count: "-1" is not a whole number from 0 to 1000000`},
		"too many":           {"cpu_milli,mem_mib,count\n1,1,99999999999\n", `pods.csv:2: count: "99999999999" is not a whole number from 0 to 1000000`},
		"malformed selector": {"cpu_milli,mem_mib,count,node_selector\n1,1,1,fast\n", `pods.csv:2: node_selector: "fast" is not of the form key=value`},
		"semicolons":         {"cpu_milli;mem_mib;count\n1;1;1\n", `pods.csv:1: unknown column "cpu_milli;mem_mib;count"; ` + tableForm},
		"a column twice":     {"cpu_milli,mem_mib,count,count\n1,1,1,2\n", "pods.csv:1: the column count appears twice; remove one of the two"},
		"no rows":            {"cpu_milli,mem_mib,count\n", "pods.csv: the table has columns and no rows; each row is a count of equal pods"},
		"no pods":            {"cpu_milli,mem_mib,count\n500,1024,0\n1,1,0\n", "pods.csv: count: is 0 in all rows, so there are no pods; each row is a count of equal pods"},
		"an empty cell":      {"cpu_milli,mem_mib,count\n1,1,\n", `pods.csv:2: count: "" is not a whole number from 0 to 1000000`},
		"two problems":       {"cpu_milli,mem_mib,count\n1m,1,x\n", "pods.csv:2: cpu_milli: \"1m\" is not a whole number from 0 to 1099511627776\npods.csv:2: count: \"x\" is not a whole number from 0 to 1000000"},
		"selector twice":     {"cpu_milli,mem_mib,count,node_selector\n1,1,1,a=b;a=c\n", `pods.csv:2: node_selector: a appears twice, as "b" and "c"; remove one of the two`},
		"ragged":             {"cpu_milli,mem_mib,count\n1,1\n", "pods.csv:2: the row has 2 cells, and the columns are 3: cpu_milli, mem_mib, count; keep the commas of empty cells"},
	} {
		_, err := table(c.text)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
}

func TestTablesBesideManifests(t *testing.T) {
	b := NewBuilder()
	b.addPodsCSV("a.csv", []byte("count,mem_mib,cpu_milli\n1,1,1\n"))
	b.addPodsCSV("b.csv", []byte("count,mem_mib,cpu_milli\n1,1,1\n"))
	b.Add("c.yaml", []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"))
	set, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"default/a pending", "default/pods-1-0 pending", "default/pods2-1-0 pending"}, podLines(set.Snapshot.Pods)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestTableInUTF16(t *testing.T) {
	set, err := table(inUTF16(binary.LittleEndian, "cpu_milli,mem_mib,count\r\n500,1024,1\r\n"))
	if err != nil || len(set.Snapshot.Pods) != 1 {
		t.Errorf("got %d pods and error %v, want one pod", len(set.Snapshot.Pods), err)
	}
}

func BenchmarkTableOfHundredThousandPods(b *testing.B) {
	text := "cpu_milli,mem_mib,count\n" + strings.Repeat("500,1024,10000\n", 10)
	for b.Loop() {
		if _, err := table(text); err != nil {
			b.Fatal(err)
		}
	}
}

func TestFilesAndStandardInput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pods.csv")
	if err := os.WriteFile(path, []byte("count,mem_mib,cpu_milli\n1,1,1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.WriteString("apiVersion: v1\nkind: Pod\nmetadata: {name: piped}\n"); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	before := os.Stdin
	os.Stdin = in
	defer func() { os.Stdin = before }()

	b := NewBuilder("theirs")
	b.AddPodsCSVFile(path)
	b.AddPodsCSVFile(path + ".absent")
	b.AddFile("-")
	b.AddPodsCSVFile("-")
	b.Add("other.yaml", []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: other}\nspec: {schedulerName: theirs}\n"))
	set, err := b.Build()
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got error %v, want that a file does not exist", err)
	}
	if twice := "-: the standard input is named twice"; err == nil || !strings.Contains(err.Error(), twice) {
		t.Errorf("got error %v, want %q", err, twice)
	}
	want := []string{"default/other pending", "default/piped pending", "default/pods-1-0 pending"}
	if diff := cmp.Diff(want, podLines(set.Snapshot.Pods)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
