package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// MetricsHandler serves /metrics.
func (a *Agent) MetricsHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", a.metrics.Handler())
	return mux
}

// HealthHandler serves /healthz, which fails when the planning loop of a leading
// agent hangs, and /readyz, which succeeds once the caches are filled. While Karpenter
// runs, /readyz says so and succeeds all the same: the agent serves its Provisioners.
func (a *Agent) HealthHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, a.Healthy(), "") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { answer(w, a.Ready(), a.cluster.Standby()) })
	return mux
}

func answer(w http.ResponseWriter, err error, standby string) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
	if standby != "" {
		fmt.Fprintf(w, "not serving NodePools: %s\n", standby)
	}
}

// Healthy returns an error if this agent leads and its planning loop hangs.
func (a *Agent) Healthy() error {
	if !a.leading.Load() {
		return nil
	}
	return a.pulse.check(a.options.Interval + a.options.BatchMax)
}

// Ready returns an error until the caches are filled, and while one of them cannot be
// kept up to date, because its kind is not installed or cannot be read.
func (a *Agent) Ready() error {
	if waiting := a.cluster.Waiting(); len(waiting) > 0 {
		return fmt.Errorf("waiting for caches to sync: %s", strings.Join(waiting, "; "))
	}
	return nil
}

// Serve answers on the address until the context ends.
func Serve(ctx context.Context, address string, handler http.Handler) error {
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", address, err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // nothing is lost: answers take no time
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve on %s: %w", address, err)
	}
	return nil
}
