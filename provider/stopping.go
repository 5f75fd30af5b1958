package provider

import (
	"context"
	"sync"
)

// stopping ends calls under way when Terraform asks the provider to stop, which
// their own contexts do not tell.
type stopping struct {
	mu    sync.Mutex
	calls map[*context.CancelFunc]struct{}
}

// able returns a context that now ends too. Its function has to be called.
func (s *stopping) able(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls == nil {
		s.calls = map[*context.CancelFunc]struct{}{}
	}
	s.calls[&cancel] = struct{}{}
	return ctx, func() {
		cancel()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.calls, &cancel)
	}
}

// now ends all calls under way. Later ones run: a provider that is attached to
// serves many commands.
func (s *stopping) now() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for cancel := range s.calls {
		(*cancel)()
	}
}
