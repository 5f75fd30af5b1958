package avoid

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
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

// Where some machines run out of memory and others do not, such as because of the pods of one workload, the pauses do not
// become longer and longer. A machine that has failed itself does not end them once it has lost its taint.
func TestPressureOfSomeMachines(t *testing.T) {
	const taint = corev1.TaintNodeMemoryPressure
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for name, fails := range map[string]bool{"another machine is spared": false, "all machines fail": true} {
		a := New()
		var second *cluster.Node
		for i := range 4 {
			bought := noon.Add(time.Duration(10*i) * time.Minute)
			n := &cluster.Node{Name: bought.String(), Provisioner: "default", Created: bought, Initialized: true}
			a.addFailure(n, kind{pressure: taint}, bought.Add(5*time.Minute))
			a.partly[n.Name] = true
			if i == 1 {
				second = n
			}
		}
		if !fails {
			second = &cluster.Node{Name: "spared", Provisioner: "default", Created: second.Created, Initialized: true}
		}
		now := noon.Add(36 * time.Minute)
		if a.pressed("default", now) == "" {
			t.Fatalf("%s: machines are bought before", name)
		}
		a.clearFailures(second, now)
		if got := a.pressed("default", now) != ""; got != fails {
			t.Errorf("%s: machines are held back %t, want %t", name, got, fails)
		}
	}
}
