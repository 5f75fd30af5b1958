package call

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
)

// pluginTimeout is the time limit of a credential plugin. It is shorter than Timeout, so that the
// error names the plugin and not the API server.
const pluginTimeout = Timeout - 5*time.Second

// PluginError means that a credential plugin of a kubeconfig has not responded. It is an ErrNoAnswer.
type PluginError struct {
	Command string
	cause   error // nil if pluginTimeout has passed
}

func (e *PluginError) Error() string {
	const advice = "run it in a shell to see what it waits for"
	if e.cause != nil {
		return fmt.Sprintf("the credential plugin %q has not responded (%s): %s", e.Command, advice, e.cause)
	}
	return fmt.Sprintf("the credential plugin %q did not respond within %s: %s", e.Command, pluginTimeout, advice)
}

// Is makes the error an ErrNoAnswer.
func (e *PluginError) Is(target error) bool { return target == ErrNoAnswer }

// Unwrap returns the error of the caller's context, if that has ended.
func (e *PluginError) Unwrap() error { return e.cause }

// BoundPlugin returns an access to the cluster whose requests end with a PluginError if the credential plugin
// does not respond, because client-go waits for the plugin even after the deadline of a request. An access
// without a plugin is returned as it is.
func BoundPlugin(access *rest.Config) (*rest.Config, error) {
	if access.ExecProvider == nil {
		return access, nil
	}
	host, _, err := rest.DefaultServerUrlFor(access)
	if err != nil {
		return nil, fmt.Errorf("read the address of the API server %q: %w", access.Host, err)
	}
	inner := rest.CopyConfig(access)
	inner.Wrap(func(next http.RoundTripper) http.RoundTripper { return authenticated{next} })
	transport, err := rest.TransportFor(inner)
	if err != nil {
		return nil, fmt.Errorf("prepare the connection to %s: %w", access.Host, err)
	}
	outer := rest.AnonymousClientConfig(access)
	outer.Host = host.String() // whose scheme follows from the options of TLS, which the inner transport has
	outer.TLSClientConfig, outer.Dial, outer.Proxy = rest.TLSClientConfig{}, nil, nil
	outer.Transport = &timeLimited{transport, access.ExecProvider.Command}
	return outer, nil
}

// timeLimited makes requests through a transport that asks a credential plugin first.
type timeLimited struct {
	next    http.RoundTripper
	command string
}

// limitKey is the key of the timer that runs while the plugin is asked. Whoever stops it goes on: authenticated
// with the request, or limited without it.
type limitKey struct{}

func (b *timeLimited) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	limit := time.NewTimer(pluginTimeout)
	answered := make(chan struct{})
	var answer struct {
		response *http.Response
		err      error
	}
	go func() {
		defer close(answered)
		answer.response, answer.err = b.next.RoundTrip(req.WithContext(context.WithValue(ctx, limitKey{}, limit))) //nolint:bodyclose // whoever gets the response closes it
	}()
	select {
	case <-answered:
		limit.Stop() // the plugin may have failed
		return answer.response, answer.err
	case <-limit.C:
		return nil, &PluginError{Command: b.command}
	case <-ctx.Done():
		if limit.Stop() {
			return nil, &PluginError{b.command, ctx.Err()}
		}
		return nil, ctx.Err()
	}
}

// authenticated sends requests for which the plugin has responded in time.
type authenticated struct{ next http.RoundTripper }

func (a authenticated) RoundTrip(req *http.Request) (*http.Response, error) {
	limit, ok := req.Context().Value(limitKey{}).(*time.Timer)
	if ok && !limit.Stop() {
		return nil, ErrNoAnswer // which nobody waits for
	}
	response, err := a.next.RoundTrip(req)
	if ok && err == nil && response.StatusCode == http.StatusUnauthorized {
		limit.Reset(pluginTimeout) // client-go asks the plugin for other credentials before it passes the response on
	}
	return response, err
}
