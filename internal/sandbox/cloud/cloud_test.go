package cloud

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
	ec2model "github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2"
)

func TestSameSeedSameIDs(t *testing.T) {
	launched := func() []ec2model.Instance {
		f := start(t)
		f.template(t, "nodes")
		must2(f.ec2.CreateFleet(t.Context(), f.fleet(t, 3, types.DefaultTargetCapacityTypeSpot, []string{"m5.large"}, "a")))(t)
		return f.cloud.Instances()
	}
	if diff := cmp.Diff(launched(), launched()); diff != "" {
		t.Errorf("two accounts of one seed differ:\n%s", diff)
	}
}

func TestConcurrentFleets(t *testing.T) {
	f := start(t)
	f.template(t, "nodes")
	request := f.fleet(t, 5, types.DefaultTargetCapacityTypeOnDemand, []string{"m5.large"}, "a")
	var clients sync.WaitGroup
	for range 10 {
		clients.Go(func() {
			in := *request
			if _, err := f.ec2.CreateFleet(t.Context(), &in); err != nil {
				t.Error(err)
			}
			if _, err := f.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{}); err != nil {
				t.Error(err)
			}
		})
	}
	clients.Wait()
	ids, addresses := map[string]bool{}, map[string]bool{}
	for _, i := range f.cloud.Instances() {
		ids[i.ID], addresses[i.PrivateIP] = true, true
	}
	if len(ids) != 50 || len(addresses) != 50 {
		t.Errorf("50 machines have %d ids and %d addresses", len(ids), len(addresses))
	}
}

func TestClusterRenamed(t *testing.T) {
	f := start(t)
	before := f.subnetIn(t, "a")
	f.cloud.SetCluster(account.Cluster{Name: "staging", Version: "1.34"})
	subnets := must2(f.ec2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{Filters: []types.Filter{filter("tag:karpenter.sh/discovery", "staging"), filter("subnet-id", before)}}))(t)
	if len(subnets.Subnets) != 1 {
		t.Errorf("the subnets' tags did not follow the cluster's name: %+v", subnets.Subnets)
	}
	images := must2(f.ec2.DescribeImages(t.Context(), &ec2.DescribeImagesInput{Filters: []types.Filter{filter("name", "amazon-eks-node-1.34-*")}}))(t)
	if len(images.Images) == 0 {
		t.Error("the images did not follow the cluster's version")
	}
}

func TestCatalogueErrors(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"missing column": {"name,vcpus\nm5.large,2\n", "no column"},
		"bad number":     {strings.Replace(testCatalogue, "m5.large,m5,m,5,large,2,", "m5.large,m5,m,5,large,two,", 1), "line 2 (m5.large): column vcpus"},
		"ragged line":    {"name,vcpus\nm5.large\n", "wrong number of fields"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := New(Config{Catalogue: []byte(tc.text)}); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error = %v, want it to say %q", err, tc.want)
			}
		})
	}
}

func TestUnknownRequests(t *testing.T) {
	f := start(t)
	for _, path := range []string{"/", "/clusters/prod/addons", "/bucket/key"} {
		response := must2(http.Get(f.url + path))(t)
		response.Body.Close()
		if response.StatusCode != http.StatusNotFound {
			t.Errorf("GET %s: %s", path, response.Status)
		}
	}
	_, err := f.ec2.DescribeVolumes(t.Context(), &ec2.DescribeVolumesInput{})
	wantCode(t, err, "InvalidAction")
}
