package main

import (
	"net/http"
	"net/http/pprof"

	"github.com/packhorse-io/terraform-provider-packhorse/agent"
)

// metricsHandler serves the metrics and, where that is wanted, profiles.
func (s *settings) metricsHandler(a *agent.Agent) http.Handler {
	if !s.profiling {
		return a.MetricsHandler()
	}
	mux := http.NewServeMux()
	mux.Handle("/", a.MetricsHandler())
	mux.HandleFunc("GET /debug/pprof/", pprof.Index) // it serves the heap and the like by their names
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}
