package plane

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
)

const (
	pollInterval   = 25 * time.Millisecond
	requestTimeout = 2 * time.Second
)

// awaitReadyz polls the API server until it says that it is ready.
func (p *Plane) awaitReadyz(ctx context.Context) error {
	client, err := rest.HTTPClientFor(p.RESTConfig())
	if err != nil {
		return fmt.Errorf("make client of the API server: %w", err)
	}
	return p.awaitOK(ctx, client, p.Host+"/readyz")
}

// awaitHealthz polls a component that serves with a certificate of its own making.
func (p *Plane) awaitHealthz(ctx context.Context, port int) error {
	transport := &http.Transport{
		// Loopback, and nothing but the status is read.
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		DisableKeepAlives: true,
	}
	return p.awaitOK(ctx, &http.Client{Transport: transport}, localURL("https", port)+"/healthz")
}

// awaitOK polls url until it answers 200. It gives up when ctx ends or a component
// dies.
func (p *Plane) awaitOK(ctx context.Context, client *http.Client, url string) error {
	for {
		last := getOK(ctx, client, url)
		if last == nil {
			return nil
		}
		select {
		case <-p.supervisor.died:
			return p.supervisor.death()
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w; the last answer was: %w", url, ctx.Err(), last)
		case <-time.After(pollInterval):
		}
	}
}

func getOK(ctx context.Context, client *http.Client, url string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, 512))
	if err != nil {
		return err
	}
	return fmt.Errorf("%s: %s", response.Status, body)
}
