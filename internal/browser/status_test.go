package browser

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/status"
)

// cluster is a served status that tests can change.
type cluster struct {
	*httptest.Server
	latest atomic.Pointer[status.Status]
}

func serve(t *testing.T, s *status.Status) *cluster {
	t.Helper()
	c := &cluster{}
	c.latest.Store(s)
	page := status.Server{Source: c.latest.Load, Cluster: "prod", Version: "0.1.0", Local: true}
	c.Server = httptest.NewServer(page.Handler())
	t.Cleanup(c.Close)
	return c
}

// busy is the status of a cluster in which much happens, as an agent has told it.
func busy(t *testing.T) *status.Status {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "status", "testdata", "busy.json"))
	if err != nil {
		t.Fatal(err)
	}
	s := &status.Status{}
	if err := json.Unmarshal(text, s); err != nil {
		t.Fatal(err)
	}
	return s
}

// calm is the status of a cluster in which nothing happens.
func calm(t *testing.T) *status.Status {
	s := busy(t)
	return &status.Status{Leading: true, At: s.At, Provisioners: s.Provisioners[:1]}
}

// Each state of the page, in each view, is what its policy allows, breaks nothing,
// fits the screen and has nothing that axe objects to.
func TestPage(t *testing.T) {
	ctx := browser(t)
	seen := complaints(ctx)
	for name, s := range map[string]*status.Status{"busy": busy(t), "calm": calm(t), "standby": {}} {
		server := serve(t, s)
		for _, v := range views {
			t.Run(name+"-"+v.name, func(t *testing.T) {
				*seen = nil
				var wide int64
				if err := chromedp.Run(ctx, v.look(server.URL), picture(t, name+"-"+v.name),
					chromedp.Evaluate(`document.scrollingElement.scrollWidth`, &wide)); err != nil {
					t.Fatal(err)
				}
				if wide > v.width {
					t.Errorf("the page is %d pixels wide on a screen of %d", wide, v.width)
				}
				if found := axe(ctx, t); len(found) > 0 {
					t.Errorf("axe objects:\n%s", strings.Join(found, "\n"))
				}
				if len(*seen) > 0 {
					t.Errorf("the browser complains: %q", *seen)
				}
			})
		}
	}
}

// The page follows the cluster, keeps what a reader has opened, and says when the
// agent has gone.
func TestPageIsLive(t *testing.T) {
	ctx := browser(t)
	s := busy(t)
	s.Pending[0].Count = 9 // enough to be folded
	server := serve(t, s)
	next := *s
	next.HourlyPrice = 12.3456
	var open bool
	var live string
	if err := chromedp.Run(ctx, views[0].look(server.URL),
		chromedp.Evaluate(`document.getElementById("pending-0").open = true`, nil)); err != nil {
		t.Fatal(err)
	}
	server.latest.Store(&next)
	if err := chromedp.Run(ctx,
		chromedp.Poll(`document.querySelector(".facts").textContent.includes("$12.3456")`, nil),
		chromedp.Evaluate(`document.getElementById("pending-0").open`, &open),
		chromedp.Text("#live", &live)); err != nil {
		t.Fatal(err)
	}
	if !open || live != "Live" {
		t.Errorf("open %v, %q", open, live)
	}
	server.Close()
	if err := chromedp.Run(ctx, chromedp.Poll(`document.getElementById("live").textContent.includes("No answer")`, nil),
		picture(t, "lost")); err != nil {
		t.Fatal(err)
	}
}

// All is there without scripts.
func TestPageWithoutScripts(t *testing.T) {
	ctx := browser(t)
	s := busy(t)
	var text, live string
	if err := chromedp.Run(ctx, emulation.SetScriptExecutionDisabled(true), views[0].look(serve(t, s).URL),
		chromedp.Text("main", &text), chromedp.Text("#live", &live)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{fmt.Sprintf("$%.4f", s.HourlyPrice), s.Nodes[0].Why, s.Pending[0].Why, s.Leaving[0].What} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if !strings.Contains(live, "Reload") {
		t.Errorf("it says %q", live)
	}
}
