package call

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const credential = `{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"secret"}}`

// through returns a client of an API server that asks a plugin, which is a shell script, for credentials.
func through(t *testing.T, server *httptest.Server, script string) kubernetes.Interface {
	t.Helper()
	access := &rest.Config{Host: server.URL, ExecProvider: &clientcmdapi.ExecConfig{
		APIVersion: "client.authentication.k8s.io/v1", Command: "sh", Args: []string{"-c", script}, InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
	}}
	access.TLSClientConfig.Insecure = true
	bound, err := BoundPlugin(access)
	if err != nil {
		t.Fatal(err)
	}
	return kubernetes.NewForConfigOrDie(bound)
}

func apiServer(t *testing.T, handle http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewTLSServer(handle)
	t.Cleanup(server.Close)
	return server
}

func namespace(ctx context.Context, client kubernetes.Interface) error {
	_, err := client.CoreV1().Namespaces().Get(ctx, "kube-system", metav1.GetOptions{})
	return err
}

// TestPluginThatHangs holds that a credential plugin that hangs does not hold up a call for ever.
func TestPluginThatHangs(t *testing.T) {
	server := apiServer(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was made without credentials") })
	lock := filepath.Join(t.TempDir(), "lock") // which is removed at the end of the test
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	client := through(t, server, "while [ -e "+lock+" ]; do sleep 0.1; done")
	for range 2 { // the second request waits for the plugin of the first
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		err := namespace(ctx, client)
		if _, ok := errors.AsType[*PluginError](err); !ok || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), `the credential plugin "sh" has not responded`) {
			t.Errorf("error = %v, want that the plugin has not responded", err)
		}
		cancel()
	}
}

// transport is an http.RoundTripper.
type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(req *http.Request) (*http.Response, error) { return t(req) }

// TestPluginHasALimit holds that a request without a deadline ends, and that it is not sent if the plugin
// responds after that.
func TestPluginHasALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := authenticated{transport(func(*http.Request) (*http.Response, error) {
			t.Error("the request was sent although its error had been returned")
			return nil, ErrNoAnswer
		})}
		slow := transport(func(req *http.Request) (*http.Response, error) {
			time.Sleep(time.Hour)
			return sent.RoundTrip(req)
		})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://cluster", nil)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if _, err := (&timeLimited{slow, "aws"}).RoundTrip(req); !errors.Is(err, ErrNoAnswer) || !strings.Contains(err.Error(), `"aws" did not respond within 25s`) {
			t.Errorf("error = %v, want that the plugin did not respond", err)
		}
		if took := time.Since(start); took != pluginTimeout {
			t.Errorf("the request took %s, want %s", took, pluginTimeout)
		}
		time.Sleep(time.Hour)
	})
}

// TestPluginHasALimitOnceItsCredentialsAreRefused holds the same for the second time that client-go asks the plugin.
func TestPluginHasALimitOnceItsCredentialsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := authenticated{transport(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusUnauthorized, Body: http.NoBody}, nil
		})}
		refreshing := transport(func(req *http.Request) (*http.Response, error) {
			response, err := sent.RoundTrip(req)
			time.Sleep(time.Hour)
			return response, err
		})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://cluster", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (&timeLimited{refreshing, "aws"}).RoundTrip(req); !errors.Is(err, ErrNoAnswer) {
			t.Errorf("error = %v, want that the plugin did not respond", err)
		}
		time.Sleep(time.Hour)
	})
}

func TestPluginThatResponds(t *testing.T) {
	server := apiServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("the request has no credentials: %v", r.Header)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kube-system"}}`))
	})
	if err := namespace(t.Context(), through(t, server, "echo '"+credential+"'")); err != nil {
		t.Error(err)
	}
}

// A call that the API server does not answer is not blamed on the plugin.
func TestPluginIsNotBlamedForTheAPIServer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := apiServer(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	err := namespace(ctx, through(t, server, "echo '"+credential+"'"))
	if _, blamed := errors.AsType[*PluginError](err); blamed || !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want that the request was cancelled", err)
	}
}
