package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
)

// What an installation may set by the name of a flag is each flag of `run` that
// it does not set itself, with values that the flag takes.
func TestOptionsAreTheFlagsOfRun(t *testing.T) {
	values := map[string]string{
		"duration": "1m", "bool": "true", "float64": "1.5", "int64": "1", "string": "info", "stringSlice": "other", "stringToString": "a=b",
	}
	settings := install.Settings{ClusterName: "prod", Options: map[string]string{}}
	cmd := runCommand()
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		value, known := values[f.Value.Type()]
		if !known {
			t.Errorf("--%s is a %s: add the type to `values`, and the flag to internal/install/options.go", f.Name, f.Value.Type())
		}
		if f.Name == "log-format" {
			value = "text"
		}
		if slices.Contains(install.OptionNames(), f.Name) {
			settings.Options[f.Name] = value
		}
	})
	complete := settings.Defaulted("1.2.3")
	if errs := complete.Validate(); len(errs) > 0 {
		t.Errorf("what the flags take is refused: %v", errs)
	}
	complete.Queue, complete.InstanceProfile = "queue", "profile"
	args := complete.Deployment().Spec.Template.Spec.Containers[0].Args
	if args[0] != "run" {
		t.Errorf("the container runs %v", args)
	}
	if err := cmd.Flags().Parse(args[1:]); err != nil {
		t.Error(err)
	}
	var unset []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Changed {
			unset = append(unset, f.Name)
		}
	})
	// The environment and the defaults say these.
	want := []string{"health-address", "kube-context", "kubeconfig", "leader-elect", "metrics-address", "profiling", "region", "status-address"}
	if diff := cmp.Diff(want, unset); diff != "" {
		t.Errorf("flags that an installation cannot set (-want +got):\n%s", diff)
	}
}

func TestManifestsAreStable(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new", "folder")
	args := strings.Fields("manifests --cluster-name prod --option batch-idle=2s --option node-cost=0.1 --environment B=2,A=1 --toleration dedicated=system:NoSchedule,spare")
	listed, err := execute(t, rootCommand(), append(args, "--out", folder)...)
	if err != nil {
		t.Fatal(err)
	}
	files := strings.Fields(listed)
	if !slices.IsSorted(files) || len(files) < 10 {
		t.Errorf("files = %v", files)
	}
	var all []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(text))
	}
	printed, err := execute(t, rootCommand(), args...)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(printed, strings.Join(all, "---\n")); diff != "" {
		t.Errorf("what is printed and what is written (-printed +written):\n%s", diff)
	}
	for _, text := range all[:2] {
		if !strings.Contains(text, "kind: CustomResourceDefinition\nmetadata:\n  annotations:\n    argocd.argoproj.io/sync-options: Prune=false\n    kustomize.toolkit.fluxcd.io/prune: disabled\n") {
			t.Errorf("Argo CD and Flux would prune a definition: %.300s", text)
		}
	}
}

// TestManifestsLeftOver: a folder may be written anew with the same objects. Where there are
// others, files of before would be left beside the new ones.
func TestManifestsLeftOver(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"manifests", "--cluster-name", "prod", "--out", folder}
	for range 2 {
		if _, err := execute(t, rootCommand(), args...); err != nil {
			t.Fatal(err)
		}
	}
	_, err := execute(t, rootCommand(), append(args, "--omit-namespace")...)
	if want := "would be applied with it; remove them: 02-namespace-packhorse.yaml, "; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// TestManifestsRepeatedOptions: what is given several times is not lost.
func TestManifestsRepeatedOptions(t *testing.T) {
	printed, err := execute(t, rootCommand(), strings.Fields("manifests --cluster-name prod --option tag=team=platform --option tag=stage=prod,cost=7 "+
		"--option scheduler-name=one --option log-level=debug --option scheduler-name=two")...)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"- --tag=team=platform,stage=prod,cost=7\n", "- --scheduler-name=one,two\n", "- --log-level=debug\n"} {
		if !strings.Contains(printed, want) {
			t.Errorf("the Deployment has no argument %q", want)
		}
	}
	cmd := runCommand()
	if err := cmd.Flags().Parse([]string{"--tag=team=platform,stage=prod,cost=7", "--scheduler-name=one,two"}); err != nil {
		t.Fatal(err)
	}
	tags, _ := cmd.Flags().GetStringToString("tag")
	schedulers, _ := cmd.Flags().GetStringSlice("scheduler-name")
	if len(tags) != 3 || tags["stage"] != "prod" || !slices.Equal(schedulers, []string{"one", "two"}) {
		t.Errorf("the agent reads the tags %v and the schedulers %v", tags, schedulers)
	}
}

func TestManifestsRefuse(t *testing.T) {
	for args, want := range map[string]string{
		"": "--cluster-name: Required value",
		"--cluster-name prod --option batch-idel=2s":                    `did you mean "batch-idle"?`,
		"--cluster-name prod --option efa":                              `--option "efa" must be FLAG=VALUE`,
		"--cluster-name prod --option node-cost=1 --option node-cost=2": `--option node-cost is given twice: "1" and "2"`,
		"--cluster-name prod --option tag=team=platform --option tag=x": `--option[tag]: Invalid value: "team=platform,x": must be KEY=VALUE`,
		"--cluster-name prod --toleration :NoSchedule":                  `--toleration ":NoSchedule" names no key: write KEY[=VALUE][:EFFECT]`,
		"--cluster-name prod --toleration a:Sometimes":                  `--toleration[0].effect: Unsupported value: "Sometimes"`,
		"--cluster-name prod --cpu-request 500":                         `--cpu-request: Invalid value: "500"`,
		"--cluster-name prod --replicas 0":                              "--replicas is 0: the nearest sensible value is 1",
		"--cluster-name prod --endpoint s3=https://a":                   `--endpoint: Invalid value: "s3": is not an AWS service that the agent calls`,
	} {
		_, err := execute(t, rootCommand(), append([]string{"manifests"}, strings.Fields(args)...)...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("manifests %s: error %v, want %q", args, err, want)
		}
	}
}
