package measure

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var sink []byte

func TestRepeatCountsMemory(t *testing.T) {
	prepared, worked := 0, 0
	const size = 32 << 20
	got, err := Repeat(
		func() error { prepared++; sink = nil; return nil },
		func() error {
			worked++
			sink = make([]byte, size)
			for i := range sink {
				sink[i] = 1
			}
			return nil
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	if worked != got.Times || prepared != worked || worked > atMost {
		t.Errorf("prepared %d times, worked %d times, reported %d", prepared, worked, got.Times)
	}
	for name, s := range map[string]Sample{"first": got.First, "typical": got.Typical} {
		if s.Allocated < size || s.Peak < size || s.Wall <= 0 || s.CPU <= 0 {
			t.Errorf("%s: %+v, want more than %d bytes and some time", name, s, size)
		}
	}
}

// TestPeakIsForgotten: what was used before the measurement does not count.
func TestPeakIsForgotten(t *testing.T) {
	const size = 128 << 20
	sink = slices.Repeat([]byte{1}, size)
	sink = nil
	got, err := Repeat(func() error { return nil }, func() error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if got.First.Peak == 0 || got.First.Peak > size {
		t.Errorf("the peak is %d MiB after %d MiB were given back", got.First.Peak>>20, size>>20)
	}
}

func TestLongWorkIsDoneOnce(t *testing.T) {
	worked := 0
	got, err := Repeat(func() error { return nil }, func() error {
		worked++
		for start := time.Now(); time.Since(start) < enough; {
			continue
		}
		return nil
	})
	if err != nil || worked != 1 || got.First.Wall < enough || got.First.CPU <= 0 {
		t.Errorf("worked %d times, %+v, %v", worked, got, err)
	}
}

func TestErrorsEndIt(t *testing.T) {
	broken := errors.New("broken")
	fine := func() error { return nil }
	fail := func() error { return broken }
	if _, err := Repeat(fail, fine); !errors.Is(err, broken) {
		t.Errorf("prepare: got %v", err)
	}
	if _, err := Repeat(fine, fail); !errors.Is(err, broken) {
		t.Errorf("work: got %v", err)
	}
}

func TestMedians(t *testing.T) {
	got := Medians([]Sample{{Wall: 3, CPU: 1, Allocated: 9, Peak: 5}, {Wall: 1, CPU: 2, Allocated: 7, Peak: 5}, {Wall: 2, CPU: 9, Allocated: 8, Peak: 1}})
	if diff := cmp.Diff(Sample{Wall: 2, CPU: 2, Allocated: 8, Peak: 5}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if diff := cmp.Diff(Sample{}, Medians(nil)); diff != "" {
		t.Errorf("of none: -want +got\n%s", diff)
	}
}
