package simulate_test

import (
	"context"
	"errors"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/simulate"
)

// asked counts how often it is asked, and fails the first time.
type asked struct{ times int }

func (a *asked) Market(context.Context, *api.Provisioner, *api.NodeProfile) (offer.Market, error) {
	a.times++
	if a.times == 1 {
		return offer.Market{}, errors.ErrUnsupported
	}
	return offer.Market{}, nil
}

func TestRememberAsksOncePerKindOfMachine(t *testing.T) {
	behind := &asked{}
	market := simulate.Remember(behind)
	plain, limited := &api.Provisioner{}, &api.Provisioner{}
	limited.Spec.KubeletConfiguration = &api.KubeletConfiguration{MaxPods: ptr.To[int32](20)}
	windows := &api.NodeProfile{AMIFamily: ptr.To("Windows2022")}
	one, other := &api.NodeProfile{Class: &api.ClassTerms{Role: "one"}}, &api.NodeProfile{Class: &api.ClassTerms{Role: "other"}}
	if _, err := market.Market(t.Context(), plain, nil); err == nil {
		t.Error("the error is lost")
	}
	for range 3 {
		for _, p := range []*api.Provisioner{plain, limited} {
			for _, profile := range []*api.NodeProfile{nil, windows, one, other} {
				if _, err := market.Market(t.Context(), p, profile); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if want := 1 + 8; behind.times != want {
		t.Errorf("asked %d times, want %d: for the error, and once for each kind of machine", behind.times, want)
	}
}
