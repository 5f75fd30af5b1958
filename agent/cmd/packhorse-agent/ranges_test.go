package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
)

// TestFlagsOutOfRangeNameTheNearestValue has values that would be taken for nonsense later.
func TestFlagsOutOfRangeNameTheNearestValue(t *testing.T) {
	for arg, want := range map[string]string{
		"--reserved-enis=-5":                 "--reserved-enis is -5: the nearest sensible value is 0",
		"--vm-memory-overhead-percent=0.075": "--vm-memory-overhead-percent is 0.075: the nearest sensible value is 7.5",
		"--vm-memory-overhead-percent=-1":    "--vm-memory-overhead-percent is -1: the nearest sensible value is 1",
		"--batch-idle=-1s":                   "--batch-idle is -1s: the nearest sensible value is 0s",
		"--startup-timeout=-15m":             "--startup-timeout is -15m0s: the nearest sensible value is 1s",
		"--unhealthy-after=-1m":              "--unhealthy-after is -1m0s: the nearest sensible value is 1s",
		"--node-cost=-0.5":                   "--node-cost is -0.5: the nearest sensible value is 0",
		"--unhealthy-after=-1s":              "",
		"--vm-memory-overhead-percent=0":     "",
		"--startup-timeout=0":                "--startup-timeout is 0s: the nearest sensible value is 1s",
		"--node-cost=NaN":                    "--node-cost is NaN: the nearest sensible value is 0",
		"--batch-max=50ms":                   "--batch-max is 50ms: must not be less than batch-idle: the nearest sensible value is 100ms",
		"--batch-idle=20s":                   "--batch-max is 10s: must not be less than batch-idle: the nearest sensible value is 20s",
		"--reserved-enis=1":                  "",
		"--log-level=debug":                  "",
	} {
		cmd := runCommand()
		if err := cmd.ParseFlags([]string{arg}); err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := checkRanges(cmd.Flags()); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", arg, got, want)
		}
	}
}

// The flags of the other commands are checked by the same table, and none is left out.
func TestAllNumericFlagsHaveARange(t *testing.T) {
	kinds := []string{"duration", "int", "int32", "int64", "uint", "float64", "count"}
	for _, cmd := range rootCommand().Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if _, ranged := install.RangeOf(f.Name); !ranged && slices.Contains(kinds, f.Value.Type()) {
				t.Errorf("--%s of %s has no range: add it to `options` or `otherRanges` of internal/install", f.Name, cmd.Name())
			}
		})
	}
	for want, args := range map[string][]string{
		"--budget is -1s: the nearest sensible value is 0s":                                                                                           {"simulate", "--budget=-1s", "-f", "x"},
		"--replicas is 0: the nearest sensible value is 1":                                                                                            {"manifests", "--cluster-name=c", "--replicas=0"},
		"render the installation: --option[reserved-enis]: Invalid value: \"-5\": the nearest sensible value is 0":                                    {"manifests", "--cluster-name=c", "--option=reserved-enis=-5"},
		"render the installation: --option[batch-max]: Invalid value: \"1ms\": must not be less than batch-idle: the nearest sensible value is 100ms": {"manifests", "--cluster-name=c", "--option=batch-max=1ms"},
	} {
		cmd := rootCommand()
		cmd.SetArgs(args)
		if err := cmd.ExecuteContext(t.Context()); err == nil || err.Error() != want {
			t.Errorf("%v: got %v, want %q", args, err, want)
		}
	}
}

// docs/installation.md lists the options of an installation.
func TestOptionsAreDocumented(t *testing.T) {
	const file, begin, end = "../../../docs/installation.md", "<!-- options -->\n", "<!-- end -->"
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(raw), begin)
	listed, after, ok := strings.Cut(rest, end)
	if !ok {
		t.Fatalf("%s has no list between %q and %q", file, begin, end)
	}
	want := optionTable()
	if *update {
		if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if listed != want {
		t.Errorf("the options in %s are out of date: run go test ./agent/cmd/packhorse-agent -run TestOptionsAreDocumented -update", file)
	}
}

func optionTable() string {
	out := "| option | default | values | meaning |\n| --- | --- | --- | --- |\n"
	flags := runCommand().Flags()
	for _, name := range install.OptionNames() {
		f := flags.Lookup(name)
		_, usage := pflag.UnquoteUsage(f)
		given := cmp.Or(strings.Trim(f.DefValue, "[]"), "none")
		out += fmt.Sprintf("| `%s` | %s | %s | %s |\n", name, given, rangeOf(name), usage)
	}
	return out
}

// rangeOf says what values of an option are allowed, if it has a range.
func rangeOf(option string) string {
	r, ranged := install.RangeOf(option)
	if !ranged {
		return ""
	}
	text := func(v float64) string {
		if r.Duration {
			return time.Duration(v * float64(time.Second)).String()
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	out := text(r.Least) + " to " + text(r.Most)
	for _, off := range r.Off {
		out += ", or " + text(off)
	}
	return out
}
