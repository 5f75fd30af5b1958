package connect

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
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

// TestASilentConnectionCostsOneAttempt holds that a call outlives connections whose other end has
// vanished, and that a long poll takes its 20 seconds.
func TestASilentConnectionCostsOneAttempt(t *testing.T) {
	t.Setenv("AWS_CONFIG_FILE", os.DevNull)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", os.DevNull)
	t.Setenv("AWS_ACCESS_KEY_ID", "a")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "b")
	for name, tt := range map[string]struct {
		prepare func(aws.Config) aws.Config
		silent  int           // connections
		wait    time.Duration // for the response on each other one
	}{
		"a silent connection": {func(c aws.Config) aws.Config { return c }, 1, 0},
		"a long poll":         {ForLongPolls, 0, 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg, err := Load(t.Context(), Settings{Region: "eu-west-1", Endpoints: map[string]string{"sqs": "http://sqs.test"}})
				if err != nil {
					t.Fatal(err)
				}
				connections := 0
				client := cfg.HTTPClient.(memoryBodies).client.(*awshttp.BuildableClient)
				cfg.HTTPClient = memoryBodies{client.WithTransportOptions(func(tr *http.Transport) {
					tr.DialContext = func(context.Context, string, string) (net.Conn, error) {
						ours, theirs := net.Pipe()
						connections++
						go respond(theirs, connections > tt.silent, tt.wait)
						return ours, nil
					}
				})}
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				queues := sqs.NewFromConfig(tt.prepare(cfg))
				if _, err := queues.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: aws.String("http://sqs.test/q")}); err != nil {
					t.Error(err)
				}
				if connections != tt.silent+1 {
					t.Errorf("%d connections, want %d", connections, tt.silent+1)
				}
			})
		})
	}
}

// respond reads one request, and responds to it after a while if it is to respond at all.
func respond(conn net.Conn, responds bool, after time.Duration) {
	defer conn.Close()
	r, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, r.Body)
	if !responds {
		_, _ = conn.Read(make([]byte, 1)) // until the other side closes
		return
	}
	time.Sleep(after)
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}")
}
