package report

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/suite"
)

// Setting is where and with what was measured.
type Setting struct {
	Machine string `json:"machine"`
	System  string `json:"system"`
	Go      string `json:"go"`
	Ours    string `json:"packhorse"`
	Peer    string `json:"peer"`
}

// Measurement is all that one call measured.
type Measurement struct {
	Setting  Setting         `json:"setting"`
	Outcomes []suite.Outcome `json:"outcomes"`
}

const peerModule = "sigs.k8s.io/karpenter"

// Describe looks at this machine and program. The version of Packhorse is commit
// or, where that is empty, the one that the program was built from.
func Describe(commit string) Setting {
	s := Setting{
		Machine: fmt.Sprintf("%s, %d cores, %s of memory", processor(), runtime.NumCPU(), memory()),
		System:  runtime.GOOS + "/" + runtime.GOARCH,
		Go:      runtime.Version(),
		Ours:    cmp.Or(commit, "unknown"),
		Peer:    peerModule,
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return s
	}
	for _, m := range info.Deps {
		if m.Path == peerModule {
			s.Peer += " " + m.Version
		}
	}
	for _, v := range info.Settings {
		if v.Key == "vcs.revision" && commit == "" {
			s.Ours = v.Value
		}
	}
	return s
}

// processor is the model that Linux tells.
func processor() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	for line := range bytes.Lines(data) {
		if key, value, ok := bytes.Cut(line, []byte(":")); ok && string(bytes.TrimSpace(key)) == "model name" {
			return string(bytes.TrimSpace(value))
		}
	}
	return "unknown processor"
}

func memory() string {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "MemTotal:" {
			if kib, err := strconv.Atoi(fields[1]); err == nil {
				return fmt.Sprintf("%d GiB", (kib+1<<19)>>20)
			}
		}
	}
	return "unknown"
}
