package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/status"
)

func statusServer(t *testing.T, s *status.Status) string {
	t.Helper()
	page := status.Server{Source: func() *status.Status { return s }, Cluster: "prod", Version: "1.2.3", Local: true}
	server := httptest.NewServer(page.Handler())
	t.Cleanup(server.Close)
	return server.URL
}

func waitingStatus() *status.Status {
	return &status.Status{
		Leading: true, At: time.Unix(1e9, 0), HourlyPrice: 1.5,
		Pending: []status.Pending{{Why: "nothing is large enough", Stuck: true, Count: 2, Pods: []string{"shop/a", "shop/b"}}},
	}
}

// Where nobody watches, it prints once, without colours.
func TestTopPrintsOnce(t *testing.T) {
	out, err := execute(t, topCommand(), "--url", statusServer(t, waitingStatus()))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2 pods cannot be placed\n", "$1.5000 per hour", "2 pods: nothing is large enough\n", "prod as of 01:46:40 UTC, packhorse-agent 1.2.3\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if strings.Contains(out, "\x1b") {
		t.Errorf("it colours what is no terminal: %q", out)
	}
}

// On a terminal it keeps within its size, and colours unless it may not.
func TestTopRefreshes(t *testing.T) {
	url := statusServer(t, waitingStatus())
	for value, coloured := range map[string]bool{"": true, "1": false} {
		t.Setenv("NO_COLOR", value)
		ctx, cancel := context.WithCancel(t.Context())
		looks := 0
		g := &glimpse{url: url, every: time.Nanosecond, columns: func() (int, int, bool) {
			if looks++; looks == 3 {
				cancel()
			}
			return 20, 4, true
		}}
		var out bytes.Buffer
		if err := g.run(ctx, &out); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		if n := strings.Count(text, home); n < 2 {
			t.Errorf("it was drawn %d times", n)
		}
		screen, _, _ := strings.Cut(strings.TrimPrefix(text, home), home)
		if n := strings.Count(screen, "\n"); n != 3 {
			t.Errorf("%d lines on a terminal of 4: %q", n, screen)
		}
		if !strings.Contains(screen, "…") || strings.Contains(screen, "given a node") {
			t.Errorf("lines are not cut: %q", screen)
		}
		if got := strings.Contains(screen, "\x1b[1m"); got != coloured {
			t.Errorf("NO_COLOR=%q: coloured %v", value, got)
		}
	}
}

func TestTopSaysWhatIsWrong(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }))
	defer page.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	defer gone.Close()
	for url, want := range map[string]string{
		"http://127.0.0.1:1": "ask the agent: ",
		page.URL:             "which is no agent's status",
		gone.URL:             "404 Not Found",
		"::":                 `--url "::"`,
	} {
		if _, err := execute(t, topCommand(), "--url", url); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
	}
	if _, err := execute(t, topCommand(), "--interval", "0s"); err == nil || !strings.Contains(err.Error(), "--interval is 0s: the nearest sensible value is 100ms") {
		t.Errorf("%v", err)
	}
}
