package status

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
)

// busy is the status of a cluster in which much happens, as an agent has told it.
func busy(t *testing.T) *Status {
	t.Helper()
	text, err := os.ReadFile("testdata/busy.json")
	if err != nil {
		t.Fatal(err)
	}
	s := &Status{}
	if err := json.Unmarshal(text, s); err != nil {
		t.Fatal(err)
	}
	return s
}

func get(s *Server, path string, edits ...func(*http.Request)) *httptest.ResponseRecorder {
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "http://localhost:8082"+path, nil)
	for _, e := range edits {
		e(r)
	}
	s.Handler().ServeHTTP(w, r)
	return w
}

func server(s *Status) *Server {
	return &Server{Source: func() *Status { return s }, Cluster: "prod", Version: "1.2.3", Local: true}
}

// A look that failed is not taken for a cluster that consolidates nothing.
func TestPageShowsThatALookFailed(t *testing.T) {
	s := &Status{Leading: true, At: time.Now(), ConsolidationFailed: true}
	page := get(server(s), "/").Body.String()
	for where, text := range map[string]string{"page": page, "text": s.Text()} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), "The last look at nodes in use failed") || strings.Contains(text, "No Provisioner consolidates") {
			t.Errorf("the %s does not say that the look failed", where)
		}
	}
}

// What is seen is what the JSON says, for each part of the page.
func TestPageShowsTheStatus(t *testing.T) {
	s := busy(t)
	page := get(server(s), "/").Body.String()
	want := []string{fmt.Sprintf("$%.4f", s.HourlyPrice), "prod", "packhorse-agent 1.2.3", "34.2% above", "34 of at most 60 cpu", "2 pods cannot be placed"}
	for _, n := range s.Nodes {
		want = append(want, n.Node, n.InstanceType, n.Why)
	}
	for _, p := range s.Pending {
		want = append(append(want, p.Why), p.Pods...)
	}
	for _, l := range s.Leaving {
		want = append(want, l.What)
	}
	want = append(want, s.Consolidation.Headline(), s.Consolidation.Held[0].Words())
	for _, n := range s.Consolidation.Stays {
		want = append(want, n.Node, n.Why)
	}
	for _, e := range s.Recent {
		want = append(want, e.Message)
	}
	for _, text := range want {
		if !strings.Contains(page, strings.ReplaceAll(text, "'", "&#39;")) {
			t.Errorf("the page lacks %q", text)
		}
	}
}

// What users name is shown as text, whatever it looks like.
func TestPageEscapes(t *testing.T) {
	s := busy(t)
	s.Pending[0].Pods[0] = `<script>alert(1)</script>`
	s.Nodes[2].Loads[0].Workload = `<b>bold`
	s.Nodes[2].Provisioner, s.Cluster = `<i>`, `"><img>`
	page := get(&Server{Source: func() *Status { return s }, Cluster: s.Cluster}, "/").Body.String()
	for _, bad := range []string{"<script>alert", "<b>bold", "<i>", "<img>"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
}

// The policy allows the page's own style sheet and script by their hashes.
func TestPolicyFitsThePage(t *testing.T) {
	w := get(server(busy(t)), "/")
	policy, page := w.Header().Get("Content-Security-Policy"), w.Body.String()
	for _, element := range []string{"style", "script"} {
		found := regexp.MustCompile(`(?s)<`+element+`>(.*?)</`+element+`>`).FindAllStringSubmatch(page, -1)
		if len(found) != 1 {
			t.Fatalf("%d elements %s", len(found), element)
		}
		if want := fmt.Sprintf("%s-src 'sha256-%s'", element, digest(found[0][1])); !strings.Contains(policy, want) {
			t.Errorf("policy %q lacks %s", policy, want)
		}
	}
	if found := regexp.MustCompile(`(?i)\s(on\w+|style|src)=|https?:`).FindString(page); found != "" {
		t.Errorf("the page has %q", found)
	}
}

func TestJSONIsTheStatus(t *testing.T) {
	s := busy(t)
	w := get(server(s), "/status.json")
	got := &Status{}
	if err := json.NewDecoder(bytes.NewReader(w.Body.Bytes())).Decode(got); err != nil {
		t.Fatal(err)
	}
	want := *s
	want.Cluster, want.Version = "prod", "1.2.3"
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// What has not changed is not sent again.
func TestUnchanged(t *testing.T) {
	s := busy(t)
	for _, path := range []string{"/", "/status.json"} {
		tag := get(server(s), path).Header().Get("ETag")
		same := func(r *http.Request) { r.Header.Set("If-None-Match", tag) }
		if w := get(server(s), path, same); w.Code != http.StatusNotModified || w.Body.Len() > 0 {
			t.Errorf("%s: %d and %d bytes", path, w.Code, w.Body.Len())
		}
		changed := *s
		changed.HourlyPrice++
		if w := get(server(&changed), path, same); w.Code != http.StatusOK || w.Header().Get("ETag") == tag {
			t.Errorf("%s: %d after a change", path, w.Code)
		}
	}
}

// A status is rendered once, however many ask for it.
func TestRenderedOnce(t *testing.T) {
	latest := &Status{HourlyPrice: 1}
	s := server(latest)
	s.Source = func() *Status { return latest }
	renders := 0
	served := s.serve("text/plain", func(status *Status) ([]byte, error) {
		renders++
		return []byte(status.Cluster), nil
	})
	for i := range 4 {
		if i == 2 {
			latest = &Status{HourlyPrice: 2}
		}
		want := 1 + i/2
		w := httptest.NewRecorder()
		served(w, httptest.NewRequest(http.MethodGet, "/", nil))
		if renders != want || w.Body.String() != "prod" {
			t.Errorf("rendered %d times, want %d: %q", renders, want, w.Body.String())
		}
	}
}

// A page elsewhere cannot read a local status by pointing a name of its own here.
func TestHosts(t *testing.T) {
	for host, want := range map[string]int{
		"localhost:8082": 200, "localhost": 200, "127.0.0.1:1": 200, "[::1]:8082": 200, "10.0.0.1:8082": 200,
		"evil.example.com": 421, "evil.example.com:8082": 421, "localhost.evil.example.com": 421,
	} {
		for _, local := range []bool{true, false} {
			s := server(&Status{})
			s.Local = local
			if !local {
				want = 200
			}
			if w := get(s, "/", func(r *http.Request) { r.Host = host }); w.Code != want {
				t.Errorf("%s, local %v: %d, want %d", host, local, w.Code, want)
			}
		}
	}
	for address, want := range map[string]bool{"127.0.0.1:8082": true, "localhost:1": true, "[::1]:1": true, ":8082": false, "0.0.0.0:8082": false, "10.1.1.1:80": false} {
		if got := Loopback(address); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
}

func TestNothingIsChanged(t *testing.T) {
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
		if w := get(server(&Status{}), "/", func(r *http.Request) { r.Method = method }); w.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", method, w.Code)
		}
	}
}

// The headline is what a person should look at first.
func TestTitle(t *testing.T) {
	node := func(state string) Node { return Node{Content: explain.Content{State: state}} }
	at := time.Unix(1e9, 0)
	for want, s := range map[string]*Status{
		"This replica stands by":                {},
		"The first turn has not ended yet":      {Leading: true},
		"No nodes, and no pods waiting for one": {Leading: true, At: at},
		"Every pod has a node":                  {Leading: true, At: at, Nodes: []Node{node("ready")}},
		"1 node starting":                       {Leading: true, At: at, Nodes: []Node{node("starting")}},
		"3 pods about to get a node":            {Leading: true, At: at, Pending: []Pending{{Count: 3}}},
		"1 pod cannot be placed":                {Leading: true, At: at, Pending: []Pending{{Count: 3}, {Count: 1, Stuck: true}}},
	} {
		if got := s.Summary().Title; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A cluster of a thousand nodes makes a page that a phone can load.
func TestPageOfMany(t *testing.T) {
	s := busy(t)
	one := s.Nodes[2]
	for i := range 1000 {
		n := one
		n.Node = fmt.Sprintf("node-%d", i)
		n.Loads = append([]explain.Load{{Workload: fmt.Sprintf("shop/w%d", i), Pods: float64(1 + i%7), Each: amount.List{amount.CPU: int64(100 + i)}}}, one.Loads...)
		s.Nodes = append(s.Nodes, n)
	}
	page, err := s.HTML()
	if err != nil {
		t.Fatal(err)
	}
	if len(page) > 1<<20 {
		t.Errorf("%d bytes", len(page))
	}
	if !strings.Contains(string(page), "The 100 newest of 1009") {
		t.Error("it does not say that it leaves nodes out")
	}
}
