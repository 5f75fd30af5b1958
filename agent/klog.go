package agent

import (
	"github.com/go-logr/logr"
	"github.com/hashicorp/go-hclog"
)

// klogSink passes what libraries of Kubernetes log on to an hclog.Logger: errors
// as warnings, because the agent deals with the consequences itself, and the rest
// as debugging output.
type klogSink struct{ log hclog.Logger }

// NewLogr returns a logger for libraries of Kubernetes.
func NewLogr(log hclog.Logger) logr.Logger { return logr.New(&klogSink{log}) }

// Init implements logr.LogSink.
func (s *klogSink) Init(logr.RuntimeInfo) {}

// Enabled implements logr.LogSink.
func (s *klogSink) Enabled(int) bool { return s.log.IsDebug() }

// Info implements logr.LogSink.
func (s *klogSink) Info(_ int, msg string, keysAndValues ...any) { s.log.Debug(msg, keysAndValues...) }

// Error implements logr.LogSink.
func (s *klogSink) Error(err error, msg string, keysAndValues ...any) {
	s.log.Warn(msg, append([]any{"error", err}, keysAndValues...)...)
}

// WithValues implements logr.LogSink.
func (s *klogSink) WithValues(keysAndValues ...any) logr.LogSink {
	return &klogSink{s.log.With(keysAndValues...)}
}

// WithName implements logr.LogSink.
func (s *klogSink) WithName(name string) logr.LogSink { return &klogSink{s.log.Named(name)} }
