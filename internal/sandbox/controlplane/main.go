// Command controlplane is a Kubernetes control plane in one multi-call binary:
// etcd, the API server, the scheduler, the controller manager, kubectl and kwok,
// built from their own Go modules.
//
// The applet is chosen by the name under which the binary is called (so that
// symlinks work, as KUBEBUILDER_ASSETS expects them) or by the first argument:
//
//	controlplane kube-apiserver --etcd-servers=…
//	controlplane kwok-stages            prints the configuration for kwok --config
//
// It holds no orchestration. The components are meant to run as separate
// processes of this binary: feature gates, signal handlers and the metrics
// registry are global to a process and would clash within one.
//
// The module is nested because the components need versions of shared libraries,
// and replacements of k8s.io modules, that must not reach the product's own
// dependency graph. go.mod is for the default version of Kubernetes, go-1.36.mod and
// its like for others. Build it with make controlplane, which stamps the version that
// the components report.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	// Registered by import, as the components' own commands do.
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
)

// exitUsage is the exit code for a call that names no applet.
const exitUsage = 2

func main() {
	name, args, ok := chooseApplet(os.Args)
	if !ok {
		fmt.Fprintln(os.Stderr, usage())
		os.Exit(exitUsage)
	}
	// The components read os.Args themselves.
	os.Args = args
	os.Exit(applets()[name]())
}

// chooseApplet finds the applet that a command line names, by the base name of
// the program or else by its first argument, and returns the command line as the
// applet expects it: its own name first.
func chooseApplet(argv []string) (name string, args []string, ok bool) {
	known := applets()
	if len(argv) == 0 {
		return "", nil, false
	}
	name = filepath.Base(argv[0])
	if _, ok := known[name]; ok {
		return name, argv, true
	}
	if len(argv) == 1 {
		return "", nil, false
	}
	name = argv[1]
	_, ok = known[name]
	return name, argv[1:], ok
}

// usage lists the applets.
func usage() string {
	var names []string
	for name := range applets() {
		names = append(names, name)
	}
	slices.Sort(names)
	return "usage: controlplane APPLET [flags]\n\napplets:\n  " + strings.Join(names, "\n  ")
}
