// Package measure takes the time and memory of a piece of work within this
// process.
package measure

import (
	"bytes"
	"cmp"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Sample is what a piece of work took.
type Sample struct {
	Wall time.Duration `json:"wallNanoseconds"`
	// CPU is the processor time of all threads, with the garbage collector's.
	CPU time.Duration `json:"cpuNanoseconds"`
	// Allocated is the memory that was asked for, freed or not, in bytes.
	Allocated uint64 `json:"allocatedBytes"`
	// Peak is the most memory that the process had meanwhile, in bytes, its input
	// and code included; 0 where the system does not tell.
	Peak uint64 `json:"peakBytes"`
}

// Series is a piece of work that was done several times.
type Series struct {
	// First is from a process that has done nothing like it before.
	First Sample `json:"first"`
	// Typical holds the medians of all times.
	Typical Sample `json:"typical"`
	Times   int    `json:"times"`
}

// Work is repeated until it has taken enough in total, but not too often.
const (
	enough   = 300 * time.Millisecond
	atMost   = 15
	kibibyte = 1 << 10
)

// Repeat measures work, which prepare precedes each time, unmeasured.
func Repeat(prepare func() error, work func() error) (Series, error) {
	var samples []Sample
	total := time.Duration(0)
	for len(samples) == 0 || total < enough && len(samples) < atMost {
		if err := prepare(); err != nil {
			return Series{}, err
		}
		if len(samples) == 0 {
			debug.FreeOSMemory()
			resetPeak()
		} else {
			runtime.GC()
		}
		s, err := Once(work)
		if err != nil {
			return Series{}, err
		}
		samples = append(samples, s)
		total += s.Wall
	}
	return Series{First: samples[0], Typical: Medians(samples), Times: len(samples)}, nil
}

// Once measures work that is done once.
func Once(work func() error) (Sample, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, start := processorTime(), time.Now()
	err := work()
	wall, used := time.Since(start), processorTime()-cpu
	peak := peakMemory()
	runtime.ReadMemStats(&after)
	return Sample{Wall: wall, CPU: used, Allocated: after.TotalAlloc - before.TotalAlloc, Peak: peak}, err
}

// Medians takes the median of each figure. Without samples it is zero.
func Medians(samples []Sample) Sample {
	return Sample{
		Wall:      median(samples, func(s Sample) time.Duration { return s.Wall }),
		CPU:       median(samples, func(s Sample) time.Duration { return s.CPU }),
		Allocated: median(samples, func(s Sample) uint64 { return s.Allocated }),
		Peak:      median(samples, func(s Sample) uint64 { return s.Peak }),
	}
}

// median is the lower one of an even number.
func median[T cmp.Ordered](samples []Sample, of func(Sample) T) T {
	var values []T
	for _, s := range samples {
		values = append(values, of(s))
	}
	if len(values) == 0 {
		var none T
		return none
	}
	slices.Sort(values)
	return values[(len(values)-1)/2]
}

func processorTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// resetPeak makes the kernel forget the most memory that the process had: 5 does
// that, see proc(5). Where it cannot, the peak is that of the whole process.
func resetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

func peakMemory() uint64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte("VmHWM:")); ok {
			kib, err := strconv.ParseUint(string(bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(rest), []byte("kB")))), 10, 64)
			if err != nil {
				return 0
			}
			return kib * kibibyte
		}
	}
	return 0
}
