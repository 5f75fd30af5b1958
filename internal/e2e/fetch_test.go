package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/stage"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/status"
)

// fetch returns what a URL answers, with success.
func fetch(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s: %s", url, resp.Status, text)
	}
	return text, err
}

// statusOf returns what an agent says of itself and the cluster.
func statusOf(ctx context.Context, agent *stage.Agent) (status.Status, error) {
	var now status.Status
	text, err := fetch(ctx, agent.Status+"/status.json")
	if err == nil {
		err = json.Unmarshal(text, &now)
	}
	return now, err
}
