package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

func leaseOf(holder string, renewed time.Time) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		TypeMeta:   metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "corral", Name: "packhorse-agent"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: ptr.To(holder), RenewTime: &metav1.MicroTime{Time: renewed}, LeaseDurationSeconds: ptr.To[int32](15)},
	}
}

// apiServer has the lease, and forwards ports of the leader's pod as it is told.
func apiServer(t *testing.T, forward http.HandlerFunc) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /apis/coordination.k8s.io/v1/namespaces/corral/leases/packhorse-agent", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(leaseOf("agent-1_7", time.Now()))
	})
	mux.HandleFunc("POST /api/v1/namespaces/corral/pods/agent-1/portforward", forward)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// forwardTo speaks the protocol of port forwarding, with another server in the place of the pod.
func forwardTo(t *testing.T, pod string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
			t.Error(err)
			return
		}
		streams := make(chan httpstream.Stream)
		conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
			streams <- s
			return nil
		})
		if conn == nil {
			t.Error("the connection was not upgraded")
			return
		}
		defer func() { _ = conn.Close() }()
		for {
			select {
			case s := <-streams:
				go serve(s, pod)
			case <-conn.CloseChan():
				return
			}
		}
	}
}

// serve joins a stream of data with the pod, if it asks for its port.
func serve(s httpstream.Stream, pod string) {
	defer func() { _ = s.Close() }()
	if s.Headers().Get(corev1.StreamType) != corev1.StreamTypeData || s.Headers().Get(corev1.PortHeader) != "8082" {
		return
	}
	conn, err := net.Dial("tcp", pod)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	go func() { _, _ = io.Copy(conn, s) }()
	_, _ = io.Copy(s, conn)
}

func TestForwardToLeader(t *testing.T) {
	pod := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "I lead "+r.URL.Path) }))
	defer pod.Close()
	server := apiServer(t, forwardTo(t, strings.TrimPrefix(pod.URL, "http://")))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	url, err := forwardToLeader(ctx, &rest.Config{Host: server.URL}, "corral", 8082)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/status.json", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if text, err := io.ReadAll(resp.Body); err != nil || string(text) != "I lead /status.json" {
		t.Errorf("the pod answers %q, %v", text, err)
	}
}

// Ctrl-C ends `top` also while the API server does not say whether it forwards the port.
func TestForwardingEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	server := apiServer(t, func(http.ResponseWriter, *http.Request) {
		cancel()
		<-ended
	})
	t.Cleanup(func() { close(ended) })
	if _, err := forwardToLeader(ctx, &rest.Config{Host: server.URL}, "corral", 8082); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

// Where nobody leads, the nodes that are left are named, and no node of others that has the label.
func TestNobodyLeads(t *testing.T) {
	label := map[string]string{api.LabelProvisioner: "default"}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "left", Labels: label, Finalizers: []string{api.Finalizer}},
		Spec:       corev1.NodeSpec{ProviderID: "aws:///eu-west-1a/i-1"},
	}
	other := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "group", Labels: label}}
	synctest.Test(t, func(t *testing.T) {
		for name, client := range map[string]*fake.Clientset{
			"no lease":                    fake.NewClientset(node, other),
			"a lease that was given back": fake.NewClientset(node, other, leaseOf("", time.Now())),
			"a lease that has run out":    fake.NewClientset(node, other, leaseOf("agent-1_7", time.Now().Add(-time.Hour))),
		} {
			_, err := leader(t.Context(), client, "corral")
			if err == nil || !strings.Contains(err.Error(), "no agent leads in namespace corral") || !strings.HasSuffix(err.Error(), "no agent manages these nodes:\n  left, default, aws:///eu-west-1a/i-1") {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
	if _, err := leader(t.Context(), fake.NewClientset(other), "corral"); err == nil || strings.Contains(err.Error(), "looks after") {
		t.Errorf("without nodes: %v", err)
	}
}
