package connect

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// sent is a client that keeps the request.
type sent struct{ request *http.Request }

func (s *sent) Do(r *http.Request) (*http.Response, error) {
	s.request = r
	return nil, errors.New("no answer")
}

func TestBodiesAreSentFromMemory(t *testing.T) {
	for name, body := range map[string]io.Reader{"with a body": strings.NewReader("Action=X"), "without": nil} {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1", body)
			if err != nil {
				t.Fatal(err)
			}
			if r.Body != nil {
				r.Body = struct{ io.ReadCloser }{r.Body} // as opaque as the SDK's
			}
			client := &sent{}
			if _, err := WithMemoryBodies(client).Do(r); err == nil {
				t.Error("the client's error is gone")
			}
			if body == nil {
				if client.request.Body != nil {
					t.Error("a body came from nowhere")
				}
				return
			}
			text, err := io.ReadAll(client.request.Body)
			if err != nil || string(text) != "Action=X" {
				t.Errorf("body = %q, %v", text, err)
			}
		})
	}
}
