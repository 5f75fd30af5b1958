package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

func get(h http.Handler, path string) (int, string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}

func TestMetrics(t *testing.T) { // TERM-021
	inBubble(t, sim.Options{}, func(r *rig) {
		a := r.served(testProvisioner("default", emptyAfter(10)), sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("700m", "1Gi")})
		time.Sleep(time.Second)
		_, up := get(a.MetricsHandler(), "/metrics")
		r.Scale("web", 0)
		r.until("nothing is left", r.nothingLeft)
		time.Sleep(time.Second)
		_, down := get(a.MetricsHandler(), "/metrics")
		for _, want := range []string{
			`packhorse_launches_total{capacity_type="on-demand",instance_type="c5.large",provisioner="default",reason="pods",zone="sim-1a"} 1`,
			`packhorse_nodes{provisioner="default",state="ready"} 1`,
			`packhorse_hourly_price_dollars{provisioner="default"} 0.085`,
			`packhorse_unschedulable_to_launch_seconds_count 1`,
			`packhorse_unschedulable_to_binding_seconds_count 2`,
			`packhorse_unschedulable_to_running_seconds_count 2`,
			`packhorse_pods_pending 0`,
		} {
			if !strings.Contains(up, want+"\n") {
				t.Errorf("no %s in\n%s", want, up)
			}
		}
		for _, want := range []string{
			`packhorse_terminations_total{provisioner="default"} 1`,
			`packhorse_drain_duration_seconds_count{provisioner="default"} 1`,
		} {
			if !strings.Contains(down, want+"\n") {
				t.Errorf("no %s in\n%s", want, down)
			}
		}
		if strings.Contains(down, "packhorse_nodes{") {
			t.Error("nodes that are gone are still counted")
		}
	})
}

func TestHealth(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		hang := make(chan struct{})
		var hanging atomic.Bool
		a := r.start(Options{}, func(call string, _ sim.When) error {
			if call == "Instances" && hanging.Load() {
				<-hang
			}
			return nil
		})
		time.Sleep(time.Minute)
		if code, body := get(a.HealthHandler(), "/healthz"); code != http.StatusOK {
			t.Errorf("a working agent is said to be ill: %d %s", code, body)
		}
		hanging.Store(true)
		time.Sleep(time.Hour)
		if code, _ := get(a.HealthHandler(), "/healthz"); code != http.StatusServiceUnavailable {
			t.Errorf("an agent that hangs is said to be well: %d", code)
		}
		close(hang)
		a.end()
		if code, _ := get(a.HealthHandler(), "/healthz"); code != http.StatusOK {
			t.Errorf("an agent that does not lead is said to be ill: %d", code)
		}
	})
}

// A batch may take as long as batch-max permits: an agent that waits for more pods does not hang.
func TestLongBatchIsHealthy(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		a := r.start(Options{BatchIdle: time.Minute, BatchMax: 10 * time.Minute}, nobodyKnows)
		for i := range 60 {
			r.Deploy(sim.Workload{Name: fmt.Sprintf("web-%02d", i), Replicas: 1, Spec: sim.Requests("100m", "100Mi")})
			time.Sleep(30 * time.Second)
			if err := a.Healthy(); err != nil {
				r.Fatalf("after %d pods: %v", i+1, err)
			}
		}
		if len(r.Launches()) == 0 {
			t.Error("nothing is launched")
		}
	})
}

func TestReadyOnceSynced(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		process := r.Connect(nil)
		process.SetSynced(false)
		a := r.startProcess(process, Options{})
		r.Deploy(sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("700m", "1Gi")})
		if code, body := get(a.HealthHandler(), "/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(body, "waiting for caches to sync: pods") {
			t.Errorf("without caches: %d, %s", code, body)
		}
		r.never(20*time.Minute, "something is launched", func() bool { return len(r.Launches()) > 0 })
		if code, body := get(a.HealthHandler(), "/healthz"); code != http.StatusOK {
			t.Errorf("an agent that waits for its caches is to be restarted: %d, %s", code, body)
		}
		a.process.SetSynced(true)
		r.until("the workload runs", r.allRun("web", 2))
		if code, _ := get(a.HealthHandler(), "/readyz"); code != http.StatusOK {
			t.Errorf("not ready with caches: %d", code)
		}
	})
}

// standby is a cluster in which Karpenter runs.
type standby struct{ Cluster }

func (standby) Standby() string {
	return "Karpenter is running: karpenter-1 renews the Lease kube-system/karpenter-leader-election"
}

// An agent that waits for Karpenter is ready, because it serves its Provisioners, and says
// for whom it waits.
func TestReadyNamesKarpenter(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		process := r.Connect(nil)
		if _, body := get(New(process.Cluster, process.Cloud, Options{}, r.log).HealthHandler(), "/readyz"); body != "ok\n" {
			t.Errorf("without Karpenter /readyz says %q", body)
		}
		a := New(standby{process.Cluster}, process.Cloud, Options{}, r.log)
		code, body := get(a.HealthHandler(), "/readyz")
		if code != http.StatusOK || !strings.Contains(body, "not serving NodePools: Karpenter is running: karpenter-1") {
			t.Errorf("/readyz says %d, %q", code, body)
		}
	})
}

func TestServe(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Serve(ctx, "127.0.0.1:0", http.NotFoundHandler()); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context is an error: %v", err)
	}
	if err := Serve(t.Context(), "127.0.0.1:-1", http.NotFoundHandler()); err == nil || !strings.Contains(err.Error(), "127.0.0.1:-1") {
		t.Errorf("error %v, want one that names the address", err)
	}
}

func TestKlogSink(t *testing.T) {
	var out bytes.Buffer
	log := NewLogr(hclog.New(&hclog.LoggerOptions{Output: &out, Level: hclog.Info, DisableTime: true})).WithName("lease").WithValues("key", 1)
	log.Info("renewed")
	log.Error(errors.New("timeout"), "could not renew", "attempt", 2)
	if got, want := out.String(), "[WARN]  lease: could not renew: key=1 error=timeout attempt=2\n"; got != want {
		t.Errorf("logged %q, want %q", got, want)
	}
}
