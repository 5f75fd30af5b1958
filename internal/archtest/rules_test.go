package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
)

// The rules look at what exists. These tests show that they find what does not.

func TestLayerOf(t *testing.T) {
	for short, want := range map[string]layer{
		"internal/api":                   noun,
		"internal/offer/catalogue":       noun,
		"internal/decide":                decision,
		"internal/aws/fleet":             adapter,
		"agent":                          shell,
		"agent/cmd/packhorse-agent":      command,
		"internal/sandbox/kubelet":       sandbox,
		"internal/sandbox/cmd/demo":      command,
		"internal/onboard/karpenter":     support,
		"internal/apiary":                "",
		"provider/internal/kubevalue":    shell,
		"provider/cmd/terraform-provide": command,
	} {
		if got := layerOf(short); got != want {
			t.Errorf("layerOf(%s) = %q, want %q", short, got, want)
		}
	}
}

func TestDistanceProblem(t *testing.T) {
	for name, c := range map[string]struct {
		from, to string
		allowed  bool
	}{
		"adapter to adapter":          {"internal/aws", "internal/kube", false},
		"adapter to decision":         {"internal/kube", "internal/decide", false},
		"simulator to decision":       {"internal/sim", "internal/match", true},
		"adapter to noun":             {"internal/aws", "internal/offer", true},
		"adapter to itself":           {"internal/aws", "internal/aws/fleet", true},
		"agent to provider":           {"agent", "provider", false},
		"shell to adapter":            {"agent", "internal/kube", false},
		"shell to decision":           {"agent", "internal/decide", true},
		"shell to sandbox":            {"provider", "internal/sandbox/plane", false},
		"sandbox to adapter":          {"internal/sandbox/cloud", "internal/aws", true},
		"anything to a command":       {"internal/explain", "agent/cmd/packhorse-agent", false},
		"decision to shell":           {"internal/decide", "agent", false},
		"support to adapter":          {"internal/onboard", "internal/aws", false},
		"support to decision":         {"internal/simulate", "internal/decide", true},
		"support to shell":            {"internal/install", "agent", false},
		"adapter to support":          {"internal/kube", "internal/install", true},
		"support to tests":            {"internal/status", "internal/parity", false},
		"package outside to sandbox":  {"internal/archtest", "internal/sandbox", false},
		"package outside to decision": {"internal/archtest", "internal/decide", true},
	} {
		problem := distanceProblem(layerOf(c.from), rootOf(c.from), c.to)
		if (problem == "") != c.allowed {
			t.Errorf("%s: distanceProblem = %q, want allowed: %t", name, problem, c.allowed)
		}
	}
}

func TestCoreImportProblem(t *testing.T) {
	packages := map[string]*goPackage{"slices": {ImportPath: "slices", Standard: true}}
	for name, c := range map[string]struct {
		own     layer
		path    string
		allowed bool
	}{
		"standard library":             {noun, "slices", true},
		"noun to noun":                 {noun, module + "/internal/amount", true},
		"noun to decision":             {noun, module + "/internal/match", false},
		"decision to decision":         {decision, module + "/internal/match", true},
		"decision to adapter":          {decision, module + "/internal/kube", false},
		"noun to Kubernetes types":     {noun, "k8s.io/api/core/v1", true},
		"noun to component-helpers":    {noun, "k8s.io/component-helpers/scheduling", false},
		"noun to a pod's requests":     {noun, "k8s.io/component-helpers/resource", true},
		"decision to theirs":           {decision, "k8s.io/component-helpers/scheduling", true},
		"decision to client-go":        {decision, "k8s.io/client-go/kubernetes", false},
		"noun to a similar name":       {noun, "k8s.io/apiserver/pkg", false},
		"decision to another's module": {decision, "github.com/robfig/cron/v3", false},
	} {
		problem := coreImportProblem(packages, c.own, c.path)
		if (problem == "") != c.allowed {
			t.Errorf("%s: coreImportProblem = %q, want allowed: %t", name, problem, c.allowed)
		}
	}
}

func TestChainIsTheShortest(t *testing.T) {
	packages := map[string]*goPackage{
		"a": {Imports: []string{"b", "c"}}, "b": {Imports: []string{"c"}}, "c": {Imports: []string{"d", "a"}}, "d": {},
	}
	is := func(want string) func(string) bool { return func(path string) bool { return path == want } }
	if got, want := chain(packages, "a", is("d")), []string{"a", "c", "d"}; !slices.Equal(got, want) {
		t.Errorf("chain = %v, want %v", got, want)
	}
	if got := chain(packages, "d", is("a")); got != nil {
		t.Errorf("chain = %v, want none", got)
	}
}

func TestIsSkip(t *testing.T) {
	for text, want := range map[string]bool{
		`t.Skip("no network")`: true, `b.SkipNow()`: true, `tb.Skipf("%s", x)`: true,
		`decoder.Skip()`: false, `t.Run("Skip", f)`: false, `Skip()`: false,
	} {
		expression, err := parser.ParseExprFrom(token.NewFileSet(), "", text, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := isSkip(expression.(*ast.CallExpr)); got != want {
			t.Errorf("isSkip(%s) = %t, want %t", text, got, want)
		}
	}
}
