package model

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
)

// claims keeps pods from sharing a claim that only one pod may use.
type claims struct {
	exclusive map[string]bool
	user      map[string]string
}

func exclusiveClaims(snapshot *cluster.Snapshot) *claims {
	out := &claims{exclusive: map[string]bool{}, user: map[string]string{}}
	for i := range snapshot.Claims {
		c := &snapshot.Claims[i]
		if slices.Contains(c.AccessModes, corev1.ReadWriteOncePod) {
			out.exclusive[c.Namespace+"/"+c.Name] = true
		}
	}
	if len(out.exclusive) == 0 {
		return out
	}
	for i := range snapshot.Pods {
		if p := &snapshot.Pods[i]; p.NodeName != "" {
			out.take(p)
		}
	}
	return out
}

// take lets the pod use its claims, or says who uses one already.
func (c *claims) take(p *cluster.Pod) match.Miss {
	for _, ref := range p.Template.Claims {
		name := p.Namespace + "/" + ref.Name
		if !c.exclusive[name] {
			continue
		}
		if user := cmp.Or(c.user[name], p.String()); user != p.String() {
			return match.Miss{Kind: match.Volume, Want: "persistent volume claim " + name + " may be used by one pod only, and " + user + " uses it"}
		}
		c.user[name] = p.String()
	}
	return match.Miss{}
}
