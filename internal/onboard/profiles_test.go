package onboard

import (
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter"
)

func TestRoleOfANodeClassIsResolvedToItsInstanceProfile(t *testing.T) {
	own, other := Profile{Name: "nodes"}, Profile{Name: "machines", Path: "/team/"}
	ofKarpenter := Profile{Name: "prod_1234", Tags: map[string]string{nodeClassTag: "default"}}
	ofEKS := Profile{Name: "eks-1a2b"}
	for name, c := range map[string]struct {
		profiles []Profile
		want     karpenter.Profile
	}{
		"one":                  {[]Profile{other}, karpenter.Profile{Name: "machines"}},
		"one beside kept ones": {[]Profile{ofEKS, own, ofKarpenter}, karpenter.Profile{Name: "nodes"}},
		"none":                 {nil, karpenter.Profile{Missing: "the role nodes has no instance profile"}},
		"several":              {[]Profile{other, own}, karpenter.Profile{Missing: "the role nodes has several instance profiles (machines, nodes)"}},
		"kept ones only": {
			[]Profile{ofEKS, ofKarpenter},
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
