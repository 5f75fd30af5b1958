package client

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Outdated collects what lookups say that use an old answer because they could not ask again. Such a lookup
// succeeds, and fails once the answer is too old. People should learn of it before.
type Outdated struct {
	mu   sync.Mutex
	says []string
}

// reasonOutdated is the reason of the condition that shows such answers.
const reasonOutdated = "LookupsOutdated"

type outdatedKey struct{}

// CollectOutdated returns a context, and what lookups with it that use an old answer are collected in.
func CollectOutdated(ctx context.Context) (context.Context, *Outdated) {
	o := &Outdated{}
	return context.WithValue(ctx, outdatedKey{}, o), o
}

// Fault returns the reason of a condition and what the lookups say. Both are empty if all answers are new.
func (o *Outdated) Fault() (reason, message string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.says) == 0 {
		return "", ""
	}
	return reasonOutdated, strings.Join(o.says, "; ")
}

// noteOutdated tells the collector of the context, if there is one, of an old answer.
func noteOutdated(ctx context.Context, asked, until time.Time, err error) {
	o, _ := ctx.Value(outdatedKey{}).(*Outdated)
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	// Several lookups may fail for the same reason.
	text := fmt.Sprintf("an answer of %s is used until %s: %s", asked.UTC().Format(time.RFC3339), until.UTC().Format(time.RFC3339), err)
	if !slices.Contains(o.says, text) {
		o.says = append(o.says, text)
	}
}
