package process

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// A process that was killed gets no call through, whatever side of it it was on.
func TestKill(t *testing.T) {
	for _, when := range []When{Before, Sent, After} {
		p := New(nil)
		if _, err := p.Ask(t.Context(), "Launch", when); err != nil {
			t.Errorf("%s: a live process gets %v", when, err)
		}
		p.Kill()
		if _, err := p.Ask(t.Context(), "Launch", when); !errors.Is(err, ErrDead) || !p.Dead() {
			t.Errorf("%s: a dead process gets %v", when, err)
		}
	}
}

// A call of a process that is stopped waits until it goes on, and says that it waited.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(nil)
		p.Stop()
		waited := make(chan bool)
		go func() {
			held, err := p.Ask(t.Context(), "Launch", Sent)
			waited <- held && err == nil
		}()
		synctest.Wait()
		select {
		case <-waited:
			t.Fatal("a stopped process has made a call")
		default:
		}
		p.Continue()
		if !<-waited {
			t.Error("the call was lost, or does not say that it waited")
		}
	})
}

// A call that nobody waits for any more is not begun, but one that is on its way has its effect.
func TestAskWithEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := New(func(string, When) error { return nil })
	for when, want := range map[When]error{Before: context.Canceled, Sent: nil, After: context.Canceled} {
		if _, err := p.Ask(ctx, "Launch", when); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", when, err, want)
		}
	}
}

// An intercept learns the call and its moment, and what it returns is what the caller gets.
func TestIntercept(t *testing.T) {
	refused := errors.New("refused")
	p := New(func(call string, when When) error {
		if call == "Launch" && when == After {
			return refused
		}
		return nil
	})
	if _, err := p.Ask(t.Context(), "Launch", Sent); err != nil {
		t.Errorf("another moment: %v", err)
	}
	if _, err := p.Ask(t.Context(), "Bind", After); err != nil {
		t.Errorf("another call: %v", err)
	}
	if _, err := p.Ask(t.Context(), "Launch", After); !errors.Is(err, refused) {
		t.Errorf("%v, want %v", err, refused)
	}
}
