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

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// columns of a table of pods. The first three are required.
var columns = []string{"cpu_milli", "mem_mib", "count", "gpu", "gpu_name", "node_selector"}

const (
	requiredColumns = 3
	mebibyte        = 1 << 20
	// gpuResource is what the column gpu counts.
	gpuResource = "nvidia.com/gpu"
)

// AddPodsCSV adds the pods of a table with the columns cpu_milli, mem_mib, count
// and optionally gpu (of nvidia.com/gpu), gpu_name (as in the label
// karpenter.k8s.aws/instance-gpu-name) and node_selector (k=v;k2=v2), in any
// order. Each row is a count of equal pods, named pods-<row>-<number>.
func (b *Builder) AddPodsCSV(file string, data []byte) {
	b.tables++
	prefix := "pods"
	if b.tables > 1 {
		prefix = fmt.Sprintf("pods%d", b.tables)
	}
	r := csv.NewReader(bytes.NewReader(data))
	r.TrimLeadingSpace, r.Comment = true, '#'
	head, err := r.Read()
	if err != nil {
		b.problems = append(b.problems, &Error{File: file, Line: 1, Err: fmt.Errorf("read the columns: %w", err)})
		return
	}
	index, err := columnIndex(head)
	if err != nil {
		b.problems = append(b.problems, &Error{File: file, Line: 1, Err: err})
		return
	}
	for row := 1; ; row++ {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			b.problems = append(b.problems, &Error{File: file, Err: err})
			return
		}
		line, _ := r.FieldPos(0)
		if err := b.addRow(prefix+"-"+strconv.Itoa(row), index, record); err != nil {
			b.problems = append(b.problems, &Error{File: file, Line: line, Err: err})
		}
	}
}

// columnIndex maps the names of columns to their positions.
func columnIndex(head []string) (map[string]int, error) {
	index := map[string]int{}
	for i, name := range head {
		name = strings.TrimSpace(strings.TrimPrefix(name, "\ufeff"))
		if !slices.Contains(columns, name) {
			return nil, fmt.Errorf("%s: unknown column; the columns are %s", name, strings.Join(columns, ", "))
		}
		index[name] = i
	}
	for _, name := range columns[:requiredColumns] {
		if _, ok := index[name]; !ok {
			return nil, fmt.Errorf("%s: the column is missing", name)
		}
	}
	return index, nil
}

func (b *Builder) addRow(name string, index map[string]int, record []string) error {
	cell := func(column string) string {
		if i, ok := index[column]; ok {
			return strings.TrimSpace(record[i])
		}
		return ""
	}
	number := func(column string, most int64) (int64, error) {
		text := cell(column)
		if text == "" {
			return 0, nil
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 || n > most {
			return 0, fmt.Errorf("%s: %q is not a whole number from 0 to %d", column, text, most)
		}
		return n, nil
	}
	cpu, cpuErr := number("cpu_milli", 1<<40)
	memory, memoryErr := number("mem_mib", 1<<40)
	gpus, gpuErr := number("gpu", 1<<40)
	count, countErr := number("count", maxPods)
	selector, selectorErr := parseSelector(cell("node_selector"))
	if err := errors.Join(cpuErr, memoryErr, gpuErr, countErr, selectorErr); err != nil {
		return err
	}
	if gpu := cell("gpu_name"); gpu != "" {
		selector[api.LabelInstanceGPUName] = gpu
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
		if !ok || key == "" {
			return nil, fmt.Errorf("node_selector: %q is not of the form key=value", term)
		}
		out[strings.TrimSpace(key)] = strings.TrimSpace(value)
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
	for _, n := range podNames(name, 0, count) {
		converted.Name = n
		b.rows = append(b.rows, converted)
	}
}
