package main

import "testing"

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
