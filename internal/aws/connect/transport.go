package connect

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// Time limits within one attempt. They leave time for another one within a call's own limit: a
// connection that a NAT gateway or a firewall has forgotten swallows whatever is sent.
const (
	dialTimeout     = 5 * time.Second
	responseTimeout = 15 * time.Second // until the first byte of the response
	// longPollTimeout is responseTimeout for SQS, which waits up to 20 seconds for a message.
	longPollTimeout = 25 * time.Second
)

// newClient returns the SDK's default client with the time limits of one attempt. The SDK has
// none for the response, and allows 30 seconds for the connection.
func newClient() *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().
		WithDialerOptions(func(d *net.Dialer) { d.Timeout = dialTimeout }).
		WithTransportOptions(func(t *http.Transport) {
			t.TLSHandshakeTimeout = dialTimeout
			t.ResponseHeaderTimeout = responseTimeout
		})
}

// ForLongPolls returns a configuration whose client waits long enough for long polls of SQS.
func ForLongPolls(cfg aws.Config) aws.Config {
	if m, ok := cfg.HTTPClient.(memoryBodies); ok {
		if client, ok := m.client.(*awshttp.BuildableClient); ok {
			cfg.HTTPClient = memoryBodies{client.WithTransportOptions(func(t *http.Transport) { t.ResponseHeaderTimeout = longPollTimeout })}
		}
	}
	return cfg
}

// memoryBodies copies the body of each request to memory before it is sent. The SDK closes
// a body as soon as the response arrives. If net/http has not yet read the end of the body
// by then, it considers the request broken and closes the connection while the response is
// being read. With endpoints that respond at once, as on loopback, one request in a few
// would have to be retried.
type memoryBodies struct{ client aws.HTTPClient }

// WithMemoryBodies returns a client that copies request bodies to memory, see memoryBodies.
// A nil client means the SDK's default client.
func WithMemoryBodies(client aws.HTTPClient) aws.HTTPClient {
	if client == nil {
		client = awshttp.NewBuildableClient()
	}
	return memoryBodies{client}
}

// Do sends the request. The requests that the product makes to AWS are small.
func (m memoryBodies) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.ContentLength > 0 {
		body, err := io.ReadAll(io.LimitReader(r.Body, r.ContentLength))
		if err != nil {
			return nil, fmt.Errorf("read the body of %s %s: %w", r.Method, r.URL.Host, err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	return m.client.Do(r)
}
