package manifest

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/manifest/syntax"
)

// columns of a table of pods. The first three are required.
var columns = []string{"cpu_milli", "mem_mib", "count", "gpu", "gpu_name", "node_selector"}

const (
	requiredColumns = 3
	mebibyte        = 1 << 20
	// gpuResource is what the column gpu counts.
	gpuResource = "nvidia.com/gpu"
)

// addPodsCSV adds the pods of a table with the columns cpu_milli, mem_mib, count
// and optionally gpu (of nvidia.com/gpu), gpu_name (as in the label
// karpenter.k8s.aws/instance-gpu-name) and node_selector (k=v;k2=v2), in any
// order. Each row is a count of equal pods, named pods-<row>-<number>.
func (b *Builder) addPodsCSV(file string, data []byte) {
	b.tables++
	prefix := "pods"
	if b.tables > 1 {
		prefix = fmt.Sprintf("pods%d", b.tables)
	}
	problems := len(b.problems)
	fail := func(line int, err error) {
		b.problems = append(b.problems, &Error{File: file, Line: line, Err: err})
	}
	r := csv.NewReader(bytes.NewReader(syntax.Plain(data)))
	r.TrimLeadingSpace, r.Comment = true, '#'
	head, err := r.Read()
	if errors.Is(err, io.EOF) {
		fail(0, errors.New("the table is empty; "+tableForm))
		return
	}
	if err != nil {
		fail(0, fmt.Errorf("%w; %s", err, tableForm))
		return
	}
	index, err := columnIndex(head)
	if err != nil {
		fail(1, err)
		return
	}
	for row, before := 1, len(b.rows); ; row++ {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			if row == 1 {
				fail(0, errors.New("the table has columns and no rows; each row is a count of equal pods"))
			} else if len(b.rows) == before && len(b.problems) == problems {
				fail(0, errors.New("count: is 0 in all rows, so there are no pods; each row is a count of equal pods"))
			}
			return
		}
		if err != nil && !errors.Is(err, csv.ErrFieldCount) {
			fail(0, err)
			return
		}
		line, _ := r.FieldPos(0)
		if err != nil {
			fail(line, fmt.Errorf("the row has %d cells, and the columns are %d: %s; keep the commas of empty cells", len(record), len(head), strings.Join(head, ", ")))
			continue
		}
		for _, err := range b.addRow(prefix+"-"+strconv.Itoa(row), index, record) {
			fail(line, err)
		}
	}
}

// tableForm says what a table has.
var tableForm = "its first line names columns, with commas between them: " + strings.Join(columns[:requiredColumns], ", ") +
	" and optionally " + strings.Join(columns[requiredColumns:], ", ")

// columnIndex maps the names of columns to their positions.
func columnIndex(head []string) (map[string]int, error) {
	index := map[string]int{}
	for i, name := range head {
		name = strings.TrimSpace(name)
		if !slices.Contains(columns, name) {
			return nil, fmt.Errorf("unknown column %q; %s", name, tableForm)
		}
		if _, twice := index[name]; twice {
			return nil, fmt.Errorf("the column %s appears twice; remove one of the two", name)
		}
		index[name] = i
	}
	for _, name := range columns[:requiredColumns] {
		if _, ok := index[name]; !ok {
			return nil, fmt.Errorf("the column %s is missing; %s", name, tableForm)
		}
	}
	return index, nil
}

// addRow adds the pods of a row, or returns what is wrong with its cells.
func (b *Builder) addRow(name string, index map[string]int, record []string) []error {
	var wrong []error
	cell := func(column string) string {
		if i, ok := index[column]; ok {
			return strings.TrimSpace(record[i])
		}
		return ""
	}
	number := func(column string, most int64) int64 {
		text := cell(column)
		if text == "" && !slices.Contains(columns[:requiredColumns], column) {
			return 0
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 || n > most {
			wrong = append(wrong, fmt.Errorf("%s: %q is not a whole number from 0 to %d", column, text, most))
		}
		return n
	}
	cpu, memory, gpus, count := number("cpu_milli", 1<<40), number("mem_mib", 1<<40), number("gpu", 1<<40), number("count", maxPods)
	selector, err := parseSelector(cell("node_selector"))
	if err != nil {
		wrong = append(wrong, err)
	}
	if len(wrong) > 0 {
		return wrong
	}
	if gpu := cell("gpu_name"); gpu != "" {
		selector[api.LabelInstanceGPUName] = gpu
		if bad := labelRules(selector, field.NewPath("gpu_name")); len(bad) > 0 {
			return []error{bad[0]}
		}
	}
	requests := amount.List{amount.CPU: cpu, amount.Memory: memory * mebibyte, gpuResource: gpus}
	b.addEqualPods(name, requests.ResourceList(), selector, int(count))
	return nil
}

func parseSelector(text string) (map[string]string, error) {
	out := map[string]string{}
	for term := range strings.SplitSeq(text, ";") {
		term = strings.TrimSpace(term)
		if term == "" {
			continue
		}
		key, value, ok := strings.Cut(term, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !ok || key == "" {
			return nil, fmt.Errorf("node_selector: %q is not of the form key=value", term)
		}
		if first, twice := out[key]; twice {
			return nil, fmt.Errorf("node_selector: %s appears twice, as %q and %q; remove one of the two", key, first, value)
		}
		out[key] = value
	}
	if bad := labelRules(out, field.NewPath("node_selector")); len(bad) > 0 {
		return nil, bad[0]
	}
	return out, nil
}

func (b *Builder) addEqualPods(name string, requests corev1.ResourceList, selector map[string]string, count int) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault}}
	pod.Spec.NodeSelector = selector
	pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: requests}}}
	markUnschedulable(pod)
	converted, _ := b.templates.Pod(pod)
	b.rows = slices.Grow(b.rows, count)
	for _, n := range podNames(name, indexes(nil).without(0, count)) {
		converted.Name = n
		b.rows = append(b.rows, converted)
	}
}
