package archtest

import (
	"slices"
	"strings"
	"testing"
)

// layer says to which part of the architecture a package belongs.
type layer string

const (
	noun     layer = "noun"
	decision layer = "decision"
	adapter  layer = "adapter"
	shell    layer = "shell"
	command  layer = "command"
	support  layer = "support"
	sandbox  layer = "sandbox"
	tests    layer = "tests and tools"
)

// roots maps the folders of the architecture to their layers.
var roots = map[string]layer{
	"internal/api": noun, "internal/finding": noun, "internal/amount": noun, "internal/cluster": noun, "internal/offer": noun,
	"internal/bitset": decision, "internal/match": decision, "internal/model": decision, "internal/topology": decision, "internal/pack": decision, "internal/colgen": decision, "internal/lp": decision, "internal/knapsack": decision, "internal/bound": decision, "internal/retire": decision,
	"internal/localsearch": decision, "internal/price": decision, "internal/assign": decision, "internal/purchase": decision, "internal/place": decision, "internal/proof": decision, "internal/consolidate": decision,
	"internal/decide": decision, "internal/explain": decision,
	"internal/kube": adapter, "internal/aws": adapter, "internal/sim": adapter,
	"agent": shell, "provider": shell,
	"internal/policy": support, "internal/asset": support, "internal/install": support, "internal/manifest": support, "internal/simulate": support, "internal/plancheck": support,
	"internal/onboard": support, "internal/terraform": support, "internal/status": support, "internal/report": support, "internal/fence": support,
	"internal/sandbox": sandbox,
	"internal/parity":  tests, "internal/e2e": tests, "internal/conformance": tests, "internal/archtest": tests,
	"internal/bench": tests, "internal/browser": tests, "internal/tools": tests, "internal/propertytest": tests,
}

// layerOf sorts a path within the module. Commands are the cmd folders.
func layerOf(short string) layer {
	if slices.Contains(strings.Split(short, "/"), "cmd") {
		return command
	}
	return roots[rootOf(short)]
}

// rootOf is the folder of the architecture that a path lies in, or "".
func rootOf(short string) string {
	for root := range roots {
		if short == root || strings.HasPrefix(short, root+"/") {
			return root
		}
	}
	return ""
}

func TestEveryPackageHasALayer(t *testing.T) {
	for _, p := range ours(t) {
		if layerOf(p.short()) == "" {
			t.Errorf("%s belongs to no layer: add it to roots and to the table in docs/architecture.md", p.short())
		}
	}
}

// coreModules are what nouns and decisions may import directly besides the
// standard library and each other. What a pod requests follows from the pod alone, so
// nouns may ask Kubernetes for it, and the user data that they validate may be TOML.
var coreModules = map[layer][]string{
	noun:     {"k8s.io/api", "k8s.io/apimachinery", "k8s.io/component-helpers/resource", "k8s.io/utils", "sigs.k8s.io/yaml", "github.com/pelletier/go-toml/v2", "github.com/agext/levenshtein"},
	decision: {"k8s.io/api", "k8s.io/apimachinery", "k8s.io/utils", "k8s.io/component-helpers"},
}

// forbiddenInCore must not be reached from nouns, decisions and support even through
// others.
var forbiddenInCore = map[string]string{
	"k8s.io/client-go":                                "the core knows no API server",
	"github.com/aws":                                  "the core knows no cloud",
	"github.com/hashicorp/go-hclog":                   "the core does not log",
	"github.com/hashicorp/terraform-plugin-framework": "the core knows no Terraform",
	"github.com/hashicorp/terraform-plugin-go":        "the core knows no Terraform",
	"github.com/hashicorp/terraform-plugin-log":       "the core knows no Terraform",
	"github.com/prometheus":                           "the core has no metrics",
}

func within(path, root string) bool {
	return path == root || strings.HasPrefix(path, root+"/")
}

func TestCoreImportsOnlyTheCore(t *testing.T) {
	packages := load(t)
	for _, p := range ours(t) {
		own := layerOf(p.short())
		if own != noun && own != decision && own != support {
			continue
		}
		if own != support {
			for _, path := range p.Imports {
				if reason := coreImportProblem(packages, own, path); reason != "" {
					t.Errorf("%s imports %s: %s", p.short(), path, reason)
				}
			}
		}
		for root, reason := range forbiddenInCore {
			if steps := chain(packages, p.ImportPath, func(path string) bool { return within(path, root) }); steps != nil {
				t.Errorf("%s: %s:\n\t%s", p.short(), reason, strings.Join(steps, "\n\t→ "))
			}
		}
	}
}

// coreImportProblem says why a noun or a decision may not import path, or "".
func coreImportProblem(packages map[string]*goPackage, own layer, path string) string {
	if within(path, module) {
		switch target := layerOf(strings.TrimPrefix(path, module+"/")); {
		case target == noun, own == decision && target == decision:
			return ""
		default:
			return "a " + string(own) + " imports nouns" + map[layer]string{decision: " and decisions", noun: ""}[own] + " only"
		}
	}
	if p := packages[path]; p != nil && p.Standard {
		return ""
	}
	if slices.ContainsFunc(coreModules[own], func(m string) bool { return within(path, m) }) {
		return ""
	}
	return "besides the standard library a " + string(own) + " imports " + strings.Join(coreModules[own], ", ") + " only"
}

// TestLayersKeepTheirDistance holds what adapters, shells and the rest may not
// reach. Commands wire everything and are free, except for the sandbox.
func TestLayersKeepTheirDistance(t *testing.T) {
	packages := load(t)
	for _, p := range ours(t) {
		own, root := layerOf(p.short()), rootOf(p.short())
		if own == command {
			continue
		}
		steps := chain(packages, p.ImportPath, func(path string) bool {
			return within(path, module) && distanceProblem(own, root, strings.TrimPrefix(path, module+"/")) != ""
		})
		if steps != nil {
			target := strings.TrimPrefix(steps[len(steps)-1], module+"/")
			t.Errorf("%s: %s:\n\t%s", p.short(), distanceProblem(own, root, target), strings.Join(steps, "\n\t→ "))
		}
	}
}

// TestAgentAsksDecide holds that the agent asks decide, and none of the packages behind it.
func TestAgentAsksDecide(t *testing.T) {
	doors := []string{"internal/decide", "internal/explain"}
	for _, p := range ours(t) {
		if rootOf(p.short()) != "agent" {
			continue
		}
		for _, path := range p.Imports {
			target := strings.TrimPrefix(path, module+"/")
			if within(path, module) && layerOf(target) == decision && !slices.Contains(doors, target) {
				t.Errorf("%s imports %s: of the decisions, the agent knows %s only", p.short(), target, strings.Join(doors, " and "))
			}
		}
	}
}

// distanceProblem says why a package of the layer own in the folder root may not
// depend on target, or "".
func distanceProblem(own layer, root, target string) string {
	targetLayer, targetRoot := layerOf(target), rootOf(target)
	switch {
	case targetLayer == sandbox && own != sandbox:
		return "only tests, the demo and its own commands import the sandbox"
	case targetLayer == command:
		return "nothing imports a command"
	case targetRoot == root:
		return ""
	case targetLayer == tests && own != tests:
		return "the product does not depend on its tests and tools"
	case own == support && targetLayer == adapter:
		return "support is data in, data out: whoever calls it reaches adapters"
	case own == adapter && targetLayer == adapter:
		return "adapters do not know each other"
	case own == adapter && targetLayer == decision && root != "internal/sim":
		return "adapters do not know the decisions"
	case (own == adapter || own == noun || own == decision || own == support) && targetLayer == shell:
		return "only commands import shells"
	case own == shell && targetLayer == shell:
		return "agent and provider do not import each other"
	case own == shell && targetLayer == adapter:
		return "shells reach adapters through ports of their own; only commands wire them"
	}
	return ""
}

// misleading are packages that nobody imports outside of tests.
var misleading = map[string]string{
	"k8s.io/client-go/util/retry": "it turns a call that was cancelled into success; use internal/kube/call",
}

func TestNobodyImportsWhatMisleads(t *testing.T) {
	for _, p := range ours(t) {
		for _, path := range p.Imports {
			if reason, ok := misleading[path]; ok {
				t.Errorf("%s imports %s: %s", p.short(), path, reason)
			}
		}
	}
}

// forbiddenNames say nothing about what a package is for.
var forbiddenNames = []string{"util", "utils", "common", "helper", "helpers", "types", "manager"}

func TestPackageNamesSayWhatTheyAreFor(t *testing.T) {
	for _, p := range ours(t) {
		for segment := range strings.SplitSeq(p.short(), "/") {
			if slices.Contains(forbiddenNames, segment) {
				t.Errorf("%s: no package is named %s: say what it is for", p.short(), segment)
			}
		}
	}
}
