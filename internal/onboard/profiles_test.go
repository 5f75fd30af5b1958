package onboard

import (
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter"
)

func TestRoleOfANodeClassIsResolvedToItsInstanceProfile(t *testing.T) {
	own, other := asset.Profile{Name: "nodes"}, asset.Profile{Name: "machines", Path: "/team/"}
	ofKarpenter := asset.Profile{Name: "prod_1234", Tags: map[string]string{nodeClassTag: "default"}}
	ofEKS := asset.Profile{Name: "eks-1a2b"}
	for name, c := range map[string]struct {
		profiles []asset.Profile
		want     karpenter.Profile
	}{
		"one":                  {[]asset.Profile{other}, karpenter.Profile{Name: "machines"}},
		"one beside kept ones": {[]asset.Profile{ofEKS, own, ofKarpenter}, karpenter.Profile{Name: "nodes"}},
		"none":                 {nil, karpenter.Profile{Missing: "the role nodes has no instance profile"}},
		"several":              {[]asset.Profile{other, own}, karpenter.Profile{Missing: "the role nodes has several instance profiles (machines, nodes)"}},
		"kept ones only": {
			[]asset.Profile{ofEKS, ofKarpenter},
			karpenter.Profile{Missing: "the role nodes has no instance profile but eks-1a2b, which EKS keeps; prod_1234, which Karpenter keeps"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := profileFor("nodes", c.profiles); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}
