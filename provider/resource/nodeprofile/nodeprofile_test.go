package nodeprofile_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/customresource"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/resource/nodeprofile"
)

// held is a cluster in which a finalizer holds the one node profile. From the second
// call on, it does not answer.
type held struct {
	session.Objects
	calls int
}

func (h *held) Get(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	if h.calls++; h.calls > 1 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	out := &unstructured.Unstructured{}
	out.SetName(name)
	out.SetFinalizers([]string{"example.com/hold"})
	return out, nil
}

// Whoever waits in vain is told what holds it, also if the time passes in a call.
func TestAwaitGoneNamesTheFinalizers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		err := nodeprofile.Kind{}.AwaitGone(ctx, customresource.Removal{Name: "a", Objects: &held{}})
		if err == nil || !strings.Contains(err.Error(), "not deleted in time, held by the finalizers example.com/hold") {
			t.Errorf("AwaitGone() = %v, want what holds it", err)
		}
	})
}
