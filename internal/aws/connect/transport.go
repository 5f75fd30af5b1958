package connect

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// memoryBodies sends the bodies of requests from memory. The SDK takes a body
// away as soon as the answer is there; net/http, which looks once more whether a
// body from elsewhere has ended, then takes the request for broken and closes the
// connection under the answer. Endpoints near enough to answer at once, as on
// loopback, would cost a retry every few calls.
type memoryBodies struct{ client aws.HTTPClient }

// WithMemoryBodies returns a client that sends requests as memoryBodies says;
// nil stands for the SDK's own client.
func WithMemoryBodies(client aws.HTTPClient) aws.HTTPClient {
	if client == nil {
		client = awshttp.NewBuildableClient()
	}
	return memoryBodies{client}
}

// Do sends the request. All requests to AWS that we make are small.
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
