package main

import (
	"io/fs"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// gcPercent makes the heap half as large again as what is in use, not twice as large:
// the agent rests most of the time, but its memory is taken all of it.
const gcPercent = 50

// memoryShare is the percentage of the container's memory that the Go runtime tries not to exceed. The rest is for what
// the runtime does not count, such as the pages of the executable.
const memoryShare = 90

// saveMemory sets when garbage is collected, unless the environment does.
func saveMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	limit := memoryLimit(os.DirFS("/sys/fs/cgroup"))
	if os.Getenv("GOMEMLIMIT") == "" && limit > 0 {
		debug.SetMemoryLimit(limit / 100 * memoryShare)
	}
}

// memoryLimit returns how many bytes of memory the container may use; 0 if there is no limit, or if it is not known. The
// second file is that of cgroup v1, which nodes with Amazon Linux 2 have.
func memoryLimit(cgroup fs.FS) int64 {
	for _, name := range []string{"memory.max", "memory/memory.limit_in_bytes"} {
		text, err := fs.ReadFile(cgroup, name)
		if err != nil {
			continue
		}
		limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err != nil {
			return 0 // "max": there is no limit
		}
		return limit // almost 2^63 in cgroup v1 without a limit, which has no effect
	}
	return 0
}
