package main

import (
	"testing"
	"testing/fstest"
)

func TestMemoryLimitOfTheContainerIsRead(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	for what, c := range map[string]struct {
		cgroup fstest.MapFS
		want   int64
	}{
		"a limit":                       {fstest.MapFS{"memory.max": file("536870912\n")}, 512 << 20},
		"no limit":                      {fstest.MapFS{"memory.max": file("max\n")}, 0},
		"a limit of cgroup v1":          {fstest.MapFS{"memory/memory.limit_in_bytes": file("536870912\n")}, 512 << 20},
		"no container, or not on Linux": {fstest.MapFS{}, 0},
	} {
		if got := memoryLimit(c.cgroup); got != c.want {
			t.Errorf("%s: got %d bytes, want %d", what, got, c.want)
		}
	}
}
