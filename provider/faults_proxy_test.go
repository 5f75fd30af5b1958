package provider_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// faultKinds are the ways in which an answer goes wrong.
var faultKinds = []string{"hang", "cut", "lost", "429", "500", "garbage", "empty", "interrupt"}

// fault strikes requests from the one with an index on.
type fault struct {
	kind    string
	from    int
	forever bool // all from there on, and not that one alone
	// interrupt is sent to Terraform by the kind of that name.
	interrupt func()
}

// strikes is a proxy's handler around the forwarding one, which counts requests and
// lets a fault strike them.
type strikes struct {
	mu    sync.Mutex
	fault *fault
	seen  int
	done  chan struct{} // closed to release what hangs
	open  sync.WaitGroup
}

// arm lets a fault strike, and none with nil.
func (s *strikes) arm(f *fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done != nil {
		close(s.done)
	}
	s.fault, s.seen, s.done = f, 0, make(chan struct{})
}

// settle waits for all requests to end, those included that nobody waits for.
func (s *strikes) settle() { s.open.Wait() }

// requests reports how many requests there were since arm.
func (s *strikes) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

func (s *strikes) next() (*fault, chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.seen
	s.seen++
	if f := s.fault; f != nil && (at == f.from || f.forever && at > f.from) {
		return f, s.done
	}
	return nil, s.done
}

func (s *strikes) around(forward http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.open.Add(1)
		defer s.open.Done()
		f, done := s.next()
		if f == nil {
			forward.ServeHTTP(w, r)
			return
		}
		switch f.kind {
		case "hang":
			select {
			case <-r.Context().Done():
			case <-done:
			}
			panic(http.ErrAbortHandler)
		case "cut":
			panic(http.ErrAbortHandler)
		case "lost": // it is done, and nobody hears of it
			forward.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		case "429":
			http.Error(w, "slow down", http.StatusTooManyRequests)
		case "500":
			http.Error(w, "oops", http.StatusInternalServerError)
		case "garbage":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html>Sign in to the network</html>")
		case "empty":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, "{}")
		case "interrupt":
			f.interrupt()
			select { // the request is under way when Terraform asks to stop, and arrives
			case <-r.Context().Done():
			case <-time.After(300 * time.Millisecond):
			}
			arriving, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), 10*time.Second)
			defer cancel()
			forward.ServeHTTP(w, r.WithContext(arriving))
		}
	})
}

// inFront starts proxies in front of the API server and of AWS, which the process is
// pointed to, and returns a kubeconfig of an administrator.
func inFront(t *testing.T, around func(http.Handler) http.Handler) (kubeconfig string) {
	t.Helper()
	aws := httptest.NewServer(around(forwarding(t, box.AWSEndpoint, nil)))
	t.Cleanup(aws.Close)
	t.Setenv("AWS_ENDPOINT_URL", aws.URL)
	return serveCluster(t, around)
}

// serveCluster starts a proxy in front of the API server.
func serveCluster(t testing.TB, around func(http.Handler) http.Handler) (kubeconfig string) {
	t.Helper()
	transport, err := rest.TransportFor(box.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(around(forwarding(t, box.Host, transport)))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	file := clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"proxy": {
			Server: server.URL, CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		}},
		Contexts:       map[string]*clientcmdapi.Context{"proxy": {Cluster: "proxy"}},
		CurrentContext: "proxy",
	}
	if err := clientcmd.WriteToFile(file, kubeconfig); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

// forwarding hands requests on. Their signatures hold for the host that they name.
func forwarding(t testing.TB, to string, transport http.RoundTripper) http.Handler {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	return &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
	}}
}
