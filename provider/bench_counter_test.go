package provider_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// counter stands in front of the API server and counts what it is asked.
type counter struct {
	requests   atomic.Int64
	distance   atomic.Int64 // how long each request travels there and back, a time.Duration
	kubeconfig string       // of an administrator
}

// count starts a counter.
func count(b *testing.B) *counter {
	b.Helper()
	transport, err := rest.TransportFor(box.RESTConfig())
	if err != nil {
		b.Fatal(err)
	}
	target, err := url.Parse(box.Host)
	if err != nil {
		b.Fatal(err)
	}
	c := &counter{kubeconfig: filepath.Join(b.TempDir(), "kubeconfig")}
	forward := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.requests.Add(1)
		select {
		case <-time.After(time.Duration(c.distance.Load())):
		case <-r.Context().Done():
		}
		forward.ServeHTTP(w, r)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	b.Cleanup(server.Close)
	file := clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"bench": {
			Server: server.URL, CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		}},
		Contexts:       map[string]*clientcmdapi.Context{"bench": {Cluster: "bench"}},
		CurrentContext: "bench",
	}
	if err := clientcmd.WriteToFile(file, c.kubeconfig); err != nil {
		b.Fatal(err)
	}
	return c
}
