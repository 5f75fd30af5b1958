package simulate

import (
	"context"
	"encoding/json"
	"sync"

	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Remember returns a market that answers once for all Provisioners that build
// machines alike. What the given market says must not change.
func Remember(m Market) Market { return &remembering{market: m, known: map[string]offer.Market{}} }

type remembering struct {
	market Market

	mu    sync.Mutex
	known map[string]offer.Market // by what a machine is built from
}

func (r *remembering) Market(ctx context.Context, p *api.Provisioner, profile *api.NodeProfile) (offer.Market, error) {
	class := ptr.Deref(profile, api.NodeProfile{}).Class // which the JSON of a profile leaves out
	key, err := json.Marshal([]any{p.Spec.KubeletConfiguration, profile, class})
	if err != nil {
		return offer.Market{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.known[string(key)]; ok {
		return known, nil
	}
	found, err := r.market.Market(ctx, p, profile)
	if err == nil {
		r.known[string(key)] = found
	}
	return found, err
}
