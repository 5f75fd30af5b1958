package main

import (
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

func TestTop(t *testing.T) {
	out, err := execute(t, topCommand(), "--url", statusServer(t, waitingStatus()))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2 pods cannot be placed\n", "$1.5000 per hour", "  shop/a, shop/b: nothing is large enough\n", "prod as of 01:46:40 UTC, packhorse-agent 1.2.3\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
}

func TestTopSaysWhatIsWrong(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }))
	defer page.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	defer gone.Close()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) }))
	defer other.Close()
	for url, want := range map[string]string{
		other.URL:                         "is not an agent's status: it names neither",
		statusServer(t, &status.Status{}): "is a standby",
		"http://127.0.0.1:1":              "ask the agent: ",
		page.URL:                          "which is not an agent's status",
		gone.URL:                          "404 Not Found",
		"::":                              `--url "::"`,
		"localhost:8082":                  `--url "localhost:8082" is not the URL`,
	} {
		if _, err := execute(t, topCommand(), "--url", url); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
	}
}
