package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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

// Names as long as Kubernetes allows fit narrow screens and the narrowest table.
func TestLongNamesFit(t *testing.T) {
	ctx := browser(t)
	s := busy(t)
	for i := range s.Nodes {
		s.Nodes[i].Node = fmt.Sprintf("i0a1b2c3d4e5f6789%d.eucentral1.compute.internal.example.corporation.com", i)
	}
	server := serve(t, s)
	for _, width := range []int64{320, 821, 900, 992} {
		var wide int64
		if err := chromedp.Run(ctx, view{"", "light", width, false}.look(server.URL), chromedp.Evaluate(`document.scrollingElement.scrollWidth`, &wide)); err != nil {
			t.Fatal(err)
		}
		if wide > width {
			t.Errorf("the page is %d pixels wide on a screen of %d", wide, width)
		}
	}
}

// A page that was opened before there was anything to show gets its sections.
func TestPageBegins(t *testing.T) {
	ctx := browser(t)
	for name, first := range map[string]*status.Status{"standby": {}, "before the first turn": {Leading: true}} {
		server := serve(t, first)
		if err := chromedp.Run(ctx, views[0].look(server.URL)); err != nil {
			t.Fatal(err)
		}
		server.latest.Store(busy(t))
		var sections int
		if err := chromedp.Run(ctx, chromedp.Poll(`document.querySelector("h1").textContent.includes("cannot be placed")`, nil),
			chromedp.Evaluate(`document.querySelectorAll("main section").length`, &sections)); err != nil {
			t.Fatal(err)
		}
		if sections < 5 {
			t.Errorf("opened as %s, the page has %d sections", name, sections)
		}
	}
}

// An agent that accepts connections and does not answer is one that has gone.
func TestPageOfASilentAgent(t *testing.T) {
	ctx := browser(t)
	page := status.Server{Source: func() *status.Status { return busy(t) }, Local: true}
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			page.Handler().ServeHTTP(w, r)
			return
		}
		<-r.Context().Done()
	}))
	t.Cleanup(func() {
		server.CloseClientConnections() // Close waits for requests
		server.Close()
	})
	if err := chromedp.Run(ctx, views[0].look(server.URL),
		chromedp.Poll(`document.getElementById("live").textContent.includes("No answer")`, nil, chromedp.WithPollingTimeout(time.Minute))); err != nil {
		t.Fatal(err)
	}
	if n := asked.Load(); n > 4 { // the page, its icon, and a look at a time
		t.Errorf("the page has asked %d times", n)
	}
}

// A reader who moves with the keyboard stays where they are.
func TestPageKeepsTheFocus(t *testing.T) {
	ctx := browser(t)
	s := busy(t)
	s.Pending[0].Count = 9 // enough to be folded
	server := serve(t, s)
	for i, element := range []string{"footer a", "#pending details > summary"} {
		next := *s
		next.HourlyPrice = 12 + float64(i)/10
		next.At = s.At.Add(time.Duration(i+1) * time.Second)
		next.Pending = slices.Clone(s.Pending)
		next.Pending[0].Why += " since then"
		is := fmt.Sprintf(`document.activeElement === document.querySelector(%q)`, element)
		var before, after bool
		if err := chromedp.Run(ctx, views[0].look(server.URL), chromedp.Focus(element), chromedp.Evaluate(is, &before)); err != nil {
			t.Fatal(err)
		}
		server.latest.Store(&next)
		if err := chromedp.Run(ctx, chromedp.Poll(fmt.Sprintf(`document.querySelector(".facts").textContent.includes("$%.4f")`, next.HourlyPrice), nil),
			chromedp.Evaluate(is, &after)); err != nil {
			t.Fatal(err)
		}
		if !before || !after {
			t.Errorf("%s has the focus before an update: %v, after: %v", element, before, after)
		}
		server.latest.Store(s)
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
	next.Pending = append([]status.Pending{{Why: "came later", Count: 5, Pods: []string{"shop/new"}}}, s.Pending...)
	opened := fmt.Sprintf("document.getElementById(%q).open", "pending-"+s.Pending[0].Pods[0])
	var open bool
	var live string
	if err := chromedp.Run(ctx, views[0].look(server.URL),
		chromedp.Evaluate(opened+" = true", nil)); err != nil {
		t.Fatal(err)
	}
	server.latest.Store(&next)
	if err := chromedp.Run(ctx,
		chromedp.Poll(`document.querySelector(".facts").textContent.includes("$12.3456")`, nil),
		chromedp.Evaluate(opened, &open),
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
