package main

import (
	"slices"
	"strings"
	"testing"
)

func TestChooseApplet(t *testing.T) {
	tests := map[string]struct {
		argv []string
		name string
		args []string
		ok   bool
	}{
		"by symlink":         {argv: []string{"/opt/bin/kubectl", "get", "nodes"}, name: "kubectl", args: []string{"/opt/bin/kubectl", "get", "nodes"}, ok: true},
		"by argument":        {argv: []string{"controlplane", "etcd", "--name=x"}, name: "etcd", args: []string{"etcd", "--name=x"}, ok: true},
		"symlink wins":       {argv: []string{"kwok", "etcd"}, name: "kwok", args: []string{"kwok", "etcd"}, ok: true},
		"unknown applet":     {argv: []string{"controlplane", "kubelet"}},
		"no applet":          {argv: []string{"controlplane"}},
		"empty command line": {},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			gotName, gotArgs, ok := chooseApplet(test.argv)
			if ok != test.ok {
				t.Fatalf("chooseApplet(%q) ok = %v, want %v", test.argv, ok, test.ok)
			}
			if ok && (gotName != test.name || !slices.Equal(gotArgs, test.args)) {
				t.Errorf("chooseApplet(%q) = %q, %q, want %q, %q", test.argv, gotName, gotArgs, test.name, test.args)
			}
		})
	}
}

func TestUsageListsEveryApplet(t *testing.T) {
	for name := range applets() {
		if !strings.Contains(usage(), "\n  "+name) {
			t.Errorf("usage does not list %s", name)
		}
	}
}
