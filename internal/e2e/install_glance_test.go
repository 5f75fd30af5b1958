package e2e

import (
	"context"
	"fmt"
	"html"
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
			if now, err := statusOf(ctx, agent); err == nil && now.Leading {
				url, seen = agent.Status, now
			}
		}
		return len(seen.Pending) == 1 && seen.Pending[0].Stuck, fmt.Sprintf("%+v", seen.Pending), nil
	})
	why := seen.Pending[0].Why
	if !strings.Contains(why, "5000 CPU") || !strings.HasPrefix(seen.Pending[0].Pods[0], "default/giant-") {
		s.t.Errorf("the pod that is too large waits: %+v", seen.Pending)
	}
	page, err := fetch(s.t.Context(), url)
	if err != nil {
		s.t.Fatal(err)
	}
	text := s.tool("", s.built("packhorse-agent"), "top", "--url", url)
	for where, told := range map[string]string{"the page": html.UnescapeString(string(page)), "top": text} {
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
