package timeline

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

// Read reads a trace: a CSV file with the header "created,deleted,cpu,memory", the times in
// seconds from the beginning, CPU in thousandths of a core and memory in MiB. A pod whose
// deletion is empty stays.
func Read(name string, from io.Reader) (*Timeline, error) {
	t := &Timeline{Name: name, Title: "a trace", Sample: 30 * time.Minute, Types: upTo(32)}
	in := csv.NewReader(from)
	header, err := in.Read()
	if err != nil {
		return nil, fmt.Errorf("read the header of %s: %w", name, err)
	}
	if want := []string{"created", "deleted", "cpu", "memory"}; !slices.Equal(header, want) {
		return nil, fmt.Errorf("read the header of %s: it is %q, and should be %q", name, header, want)
	}
	for line := 2; ; line++ {
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			return t.sort(), nil
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		if err := t.row(fmt.Sprintf("pod-%06d", line), row); err != nil {
			return nil, fmt.Errorf("read line %d of %s: %w", line, name, err)
		}
	}
}

func (t *Timeline) row(name string, row []string) error {
	var values [4]int64
	for i, text := range row {
		if text == "" && i == 1 {
			continue
		}
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil || v < 0 {
			return fmt.Errorf("%q is not a number of at least 0", text)
		}
		values[i] = v
	}
	from, to := time.Duration(values[0])*time.Second, time.Duration(values[1])*time.Second
	if row[1] != "" && to < from {
		return fmt.Errorf("it ends at %s, before it begins at %s", to, from)
	}
	t.deploy(from, sim.Workload{Name: name, Replicas: 1, Spec: requests(quantities(values[2], values[3]<<20))})
	if row[1] != "" {
		t.Changes = append(t.Changes, Change{At: to, Gone: name})
	}
	t.Length = max(t.Length, from+time.Hour, to)
	return nil
}
