package aws

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// memoryBodies sends the bodies of requests from memory. The SDK takes a body
// away as soon as the answer is there; net/http, which looks once more whether a
// body from elsewhere has ended, then takes the request for broken and closes the
// connection under the answer. Endpoints near enough to answer at once, as on
// loopback, would cost a retry every few calls.
type memoryBodies struct{ client awssdk.HTTPClient }

func withMemoryBodies(cfg awssdk.Config) awssdk.Config {
	client := cfg.HTTPClient
	if client == nil {
		client = awshttp.NewBuildableClient()
	}
	cfg.HTTPClient = memoryBodies{client}
	return cfg
}

// Do sends the request. All requests of this package are small.
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
