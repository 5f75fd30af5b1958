package e2e

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// reserves serves a NodePool that buys from a capacity reservation of one machine: the
// first of two pods gets that machine, the second an on-demand one. When the reservation
// is cancelled, its machine stays and is labelled as what EC2 makes of it.
func (s *scene) reserves() {
	s.t.Helper()
	admin := ec2.NewFromConfig(s.AWS())
	created, err := admin.CreateCapacityReservation(s.t.Context(), &ec2.CreateCapacityReservationInput{
		InstanceType: aws.String("m5.xlarge"), AvailabilityZone: aws.String("eu-west-1b"), InstanceCount: aws.Int32(1),
		InstancePlatform: types.CapacityReservationInstancePlatformLinuxUnix, InstanceMatchCriteria: types.InstanceMatchCriteriaTargeted,
		TagSpecifications: []types.TagSpecification{{
			ResourceType: types.ResourceTypeCapacityReservation, Tags: []types.Tag{{Key: aws.String("team"), Value: aws.String("a")}},
		}},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	id := *created.CapacityReservation.CapacityReservationId
	s.applyWithKubectl("testdata/reserved.yaml")
	s.apply(strings.Replace(deployment("paid", "unused", 2, "2500m", "1Gi"), api.LabelProvisioner+": unused", api.LabelNodePool+": reserved", 1))
	s.untilRunning("paid", 2)
	s.untilCapacity("one machine of the reservation and one on demand", map[string]string{api.CapacityReserved: id, api.CapacityOnDemand: ""})

	if _, err := admin.CancelCapacityReservation(s.t.Context(), &ec2.CancelCapacityReservationInput{CapacityReservationId: &id}); err != nil {
		s.t.Fatal(err)
	}
	s.untilCapacity("no node that is said to be reserved", map[string]string{api.CapacityOnDemand: ""})
	s.untilRunning("paid", 2)
	if left := s.nodesOf("reserved"); len(left) != 2 {
		s.t.Errorf("%d nodes are there after the reservation was cancelled, want the same two", len(left))
	}
	s.delete("paid")
	s.untilNoNodes("reserved")
}

// untilCapacity waits until the two nodes of the NodePool have these capacity types, with
// the reservation of each.
func (s *scene) untilCapacity(what string, want map[string]string) {
	s.t.Helper()
	s.until(what, func(ctx context.Context) (bool, string, error) {
		nodes, err := s.nodes(ctx, "reserved")
		if err != nil {
			return false, "", err
		}
		got := map[string]string{}
		for _, n := range nodes {
			got[n.Labels[api.LabelCapacityType]] = n.Labels[api.LabelReservationID]
		}
		return len(nodes) == 2 && maps.Equal(got, want), capacities(nodes), nil
	})
}

// capacities says what each node was bought as.
func capacities(nodes []corev1.Node) string {
	var b strings.Builder
	for _, n := range nodes {
		fmt.Fprintf(&b, "%s: %s, %s, reservation %q\n", n.Name, n.Labels[corev1.LabelInstanceTypeStable], n.Labels[api.LabelCapacityType], n.Labels[api.LabelReservationID])
	}
	return b.String()
}
