package amount

import "testing"

func TestPhrase(t *testing.T) {
	for want, c := range map[string]struct {
		name string
		v    int64
	}{
		"382.87 CPU":              {CPU, 382_870},
		"9 CPU":                   {CPU, 9000},
		"0.005 CPU":               {CPU, 5},
		"10 CPU":                  {CPU, 10_000},
		"16Gi memory":             {Memory, 16 << 30},
		"7.5Gi memory":            {Memory, 15 << 29},
		"512Mi memory":            {Memory, 512 << 20},
		"1.5Ti memory":            {Memory, 3 << 39},
		"100 bytes of memory":     {Memory, 100},
		"0 memory":                {Memory, 0},
		"-1Gi memory":             {Memory, -1 << 30},
		"20Gi ephemeral storage":  {EphemeralStorage, 20 << 30},
		"4Gi hugepages-2Mi":       {"hugepages-2Mi", 4 << 30},
		"1 node":                  {Nodes, 1},
		"5 nodes":                 {Nodes, 5},
		"1 GPU (nvidia.com/gpu)":  {"nvidia.com/gpu", 1},
		"9 GPUs (amd.com/gpu)":    {"amd.com/gpu", 9},
		"2 aws.amazon.com/neuron": {"aws.amazon.com/neuron", 2},
		"room for 1 pod":          {Pods, 1},
		"room for 8 pods":         {Pods, 8},
	} {
		if got := Phrase(c.name, c.v); got != want {
			t.Errorf("%s %d: got %q, want %q", c.name, c.v, got, want)
		}
	}
}
