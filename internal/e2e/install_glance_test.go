package e2e

import (
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/status"
)

// wantGlance checks that what the leading agent serves on localhost, in a browser
// and in the terminal, names all nodes and says why a pod has none.
func (s *installed) wantGlance() {
	s.t.Helper()
	s.apply(deployment("giant", "default", 1, "5000", "1Gi"))
	defer s.delete("giant")
	var url string
	var seen status.Status
	s.until("the status tells of a pod without a node", func(ctx context.Context) (bool, string, error) {
		for _, agent := range s.host.Agents() {
			var now status.Status
			if getJSON(ctx, agent.Status+"/status.json", &now) == nil && now.Leading {
				url, seen = agent.Status, now
			}
		}
		return len(seen.Pending) == 1 && seen.Pending[0].Stuck, fmt.Sprintf("%+v", seen.Pending), nil
	})
	why := seen.Pending[0].Why
	if !strings.Contains(why, "5000 CPU") || !strings.HasPrefix(seen.Pending[0].Pods[0], "default/giant-") {
		s.t.Errorf("the pod that is too large waits: %+v", seen.Pending)
	}
	page := s.get(url)
	text := s.tool("", s.built("packhorse-agent"), "top", "--once", "--url", url)
	for where, told := range map[string]string{"the page": html.UnescapeString(page), "top": text} {
		for name := range s.boughtNodes() {
			if !strings.Contains(told, name) {
				s.t.Errorf("%s does not name node %s:\n%s", where, name, told)
			}
		}
		for _, want := range slices.Concat(seen.Pending[0].Pods, []string{why}) {
			if !strings.Contains(told, want) {
				s.t.Errorf("%s does not say %q:\n%s", where, want, told)
			}
		}
	}
}

// get returns what a URL answers.
func (s *installed) get(url string) string {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, url, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		s.t.Fatalf("%s answers %s, %v: %s", url, resp.Status, err, text)
	}
	return string(text)
}
