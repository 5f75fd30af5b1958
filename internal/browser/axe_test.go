package browser

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// run judges by all rules of WCAG 2.2 up to AA and by axe's best practices.
const run = `axe.run(document).then((r) => {
  if (r.passes.length < 10) return ["axe looked at next to nothing: " + r.passes.length + " rules apply"];
  return r.violations.map((v) => v.id + ": " + v.help + ": " + v.nodes.map((n) => n.target + " " + n.failureSummary).join("; "));
})`

// axe returns what it objects to on the page that is open.
func axe(ctx context.Context, t *testing.T) []string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatalf("axe is missing, `npm ci` in internal/browser gets it (`make browser-test` does): %v", err)
	}
	var out []string
	await := func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }
	if err := chromedp.Run(ctx, chromedp.Evaluate(string(source), nil), chromedp.Evaluate(run, &out, await)); err != nil {
		t.Fatal(err)
	}
	return out
}
