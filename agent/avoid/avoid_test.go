package avoid

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/stock"
)

// What has failed says nothing of machines that are set up in another way, such as with another image.
func TestFailuresOfOtherSettingsAreForgotten(t *testing.T) {
	for name, change := range map[string]func(*view.Provisioner){
		"nothing":            func(*view.Provisioner) {},
		"not known":          func(p *view.Provisioner) { p.Market.ProfileHash, p.Market.Status = "", api.AWSNodeTemplateStatus{} },
		"free addresses":     func(p *view.Provisioner) { p.Market.Status.Subnets = []api.SubnetStatus{{ID: "subnet-1"}} },
		"user data":          func(p *view.Provisioner) { p.Market.ProfileHash = "mended" },
		"the image":          func(p *view.Provisioner) { p.Market.Status.AMIs = []api.AMIStatus{{ID: "ami-2"}} },
		"the security group": func(p *view.Provisioner) { p.Market.Status.SecurityGroups = []api.SecurityGroupStatus{{ID: "sg-2"}} },
		"the Provisioner":    func(p *view.Provisioner) { p.Raw.Spec.Labels = map[string]string{"mended": "yes"} },
	} {
		p := &view.Provisioner{Raw: &api.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, Market: offer.Market{ProfileHash: "profile", Types: stock.Catalogue()}}
		p.Market.Status.AMIs = []api.AMIStatus{{ID: "ami-1"}}
		a := New()
		a.Apply(p)
		for i := range 2 {
			now := time.Now().Add(time.Duration(i) * time.Minute)
			a.addFailure(&cluster.Node{Provisioner: "default", Created: now}, kind{zone: "sim-1a"}, now)
		}
		a.addFor("default", &cluster.Node{Labels: map[string]string{
			api.LabelInstanceType: p.Market.Types[0].Name, api.LabelZone: "sim-1b", api.LabelCapacityType: api.CapacityOnDemand,
		}}, Pause, "it did not come up")
		held := func(zone string) bool { return a.Apply(p)[0].OfferingIn(zone, api.CapacityOnDemand).Unavailable != "" }
		if !held("sim-1a") || !held("sim-1b") {
			t.Fatal("machines are bought in the zones")
		}
		change(p)
		want := name == "nothing" || name == "not known" || name == "free addresses"
		for _, zone := range []string{"sim-1a", "sim-1b"} {
			if got := held(zone); got != want {
				t.Errorf("%s changes: held back in %s %v, want %v", name, zone, got, want)
			}
		}
	}
}
