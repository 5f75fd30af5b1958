package aws

import (
	"encoding/base64"
	"fmt"
	"maps"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/lookup"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/userdata"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// build is what candidates must have in common to share a launch template.
type build struct {
	imageID      string
	maxPods      int64
	efas         int64 // number of Elastic Fabric Adapters
	plainFirst   bool  // the first network card takes none of them
	capacityType string
	reservation  string // the capacity reservation for the machines
	unreserved   bool   // the machines must not go into a capacity reservation
}

// templateData returns the content of the launch template for a build.
func (c *Cloud) templateData(order *offer.Order, r *resolved, b build) (*types.RequestLaunchTemplateData, error) {
	text, err := userdata.Build(r.family, c.node(order, r, b))
	if err != nil {
		return nil, offer.Permanent(err)
	}
	data := &types.RequestLaunchTemplateData{
		ImageId:             &b.imageID,
		IamInstanceProfile:  &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: &r.instanceProfile},
		BlockDeviceMappings: blockDevices(r),
		MetadataOptions:     metadataOptions(r),
		Monitoring:          &types.LaunchTemplatesMonitoringRequest{Enabled: awssdk.Bool(ptr.Deref(r.profile.DetailedMonitoring, false))},
	}
	data.CapacityReservationSpecification = reservationSpec(b)
	if text != "" {
		data.UserData = awssdk.String(base64.StdEncoding.EncodeToString([]byte(text)))
	}
	addInterfaces(data, r, b)
	// EC2 documents for these that a launch template can tag them, but not that a fleet request can.
	kinds := []types.ResourceType{types.ResourceTypeNetworkInterface}
	if b.capacityType == api.CapacitySpot {
		kinds = append(kinds, types.ResourceTypeSpotInstancesRequest)
	}
	tags := tagList(c.options.sharedTags(order.Provisioner, r.profile))
	for _, kind := range kinds {
		data.TagSpecifications = append(data.TagSpecifications, types.LaunchTemplateTagSpecificationRequest{ResourceType: kind, Tags: tags})
	}
	return data, nil
}

// node returns what the user data of the machines contains.
func (c *Cloud) node(order *offer.Order, r *resolved, b build) userdata.Node {
	labels := maps.Collect(maps.All(order.Node.Labels)) // never nil
	labels[api.LabelCapacityType] = b.capacityType
	labels[api.LabelProvisioner] = order.Provisioner
	api.SetReservationLabels(labels, b.reservation)
	return userdata.Node{
		Cluster: c.options.ClusterName, Endpoint: r.cluster.Endpoint, CA: r.cluster.CA, ServiceCIDR: r.cluster.ServiceCIDR,
		Labels: labels, Taints: order.Node.Taints, MaxPods: b.maxPods, Kubelet: order.Node.Kubelet, InstanceStoreRAID: r.profile.JoinsLocalDisks(),
		Own: ptr.Deref(r.profile.UserData, ""),
	}
}

// addInterfaces sets the security groups, and describes the network interfaces if that is not
// enough: machines of IPv6 clusters need an IPv6 address, a profile may ask for a public
// address, and each network card that takes one has an Elastic Fabric Adapter.
func addInterfaces(data *types.RequestLaunchTemplateData, r *resolved, b build) {
	groups := make([]string, len(r.securityGroups))
	for i, g := range r.securityGroups {
		groups[i] = g.ID
	}
	public := r.profile.PublicAddress()
	if b.efas == 0 && !r.cluster.IPv6 && public == nil {
		data.SecurityGroupIds = groups
		return
	}
	cards := max(b.efas, 1)
	if b.plainFirst {
		cards++
	}
	for card := range cards {
		n := types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{
			NetworkCardIndex: awssdk.Int32(int32(card)), DeviceIndex: awssdk.Int32(int32(min(card, 1))), Groups: groups,
			DeleteOnTermination: awssdk.Bool(true),
		}
		if b.efas > 0 && (card > 0 || !b.plainFirst) {
			n.InterfaceType = awssdk.String("efa")
		}
		if card == 0 {
			n.AssociatePublicIpAddress = public
		}
		if card == 0 && r.cluster.IPv6 {
			n.Ipv6AddressCount, n.PrimaryIpv6 = awssdk.Int32(1), awssdk.Bool(true)
		}
		data.NetworkInterfaces = append(data.NetworkInterfaces, n)
	}
}

// metadataOptions returns the profile's options. In IPv6 clusters, the metadata service also
// has an IPv6 address unless the profile says otherwise. It does not show the machine's tags, even if the account wants that
// by default: EC2 would refuse the agent's tags, because their keys have a slash.
func metadataOptions(r *resolved) *types.LaunchTemplateInstanceMetadataOptionsRequest {
	given := r.profile.MetadataOptions
	m := given.Defaulted()
	if r.cluster.IPv6 && (given == nil || given.HTTPProtocolIPv6 == nil) {
		m.HTTPProtocolIPv6 = awssdk.String(api.MetadataEnabled)
	}
	return &types.LaunchTemplateInstanceMetadataOptionsRequest{
		HttpEndpoint:            types.LaunchTemplateInstanceMetadataEndpointState(*m.HTTPEndpoint),
		HttpProtocolIpv6:        types.LaunchTemplateInstanceMetadataProtocolIpv6(*m.HTTPProtocolIPv6),
		HttpPutResponseHopLimit: awssdk.Int32(int32(*m.HTTPPutResponseHopLimit)),
		HttpTokens:              types.LaunchTemplateHttpTokensState(*m.HTTPTokens),
		InstanceMetadataTags:    types.LaunchTemplateInstanceMetadataTagsStateDisabled,
	}
}

// blockDevices returns the volumes of the profile, or else those of the AMI family. What those of an
// EC2NodeClass leave out is left to EC2 and the image, as Karpenter does.
func blockDevices(r *resolved) []types.LaunchTemplateBlockDeviceMappingRequest {
	volumes := r.profile.BlockDeviceMappings
	if len(volumes) == 0 {
		volumes = offer.DefaultVolumes(r.family)
	}
	var out []types.LaunchTemplateBlockDeviceMappingRequest
	for _, v := range volumes {
		m := types.LaunchTemplateBlockDeviceMappingRequest{DeviceName: v.DeviceName}
		if v.EBS != nil {
			e := v.EBS
			if r.profile.Class == nil {
				e = e.Defaulted()
			}
			m.Ebs = &types.LaunchTemplateEbsBlockDeviceRequest{
				DeleteOnTermination: e.DeleteOnTermination,
				Encrypted:           e.Encrypted,
				KmsKeyId:            e.KMSKeyID,
				SnapshotId:          e.SnapshotID,
				VolumeType:          types.VolumeType(ptr.Deref(e.VolumeType, "")),
				Iops:                int32Of(e.IOPS),
				Throughput:          int32Of(e.Throughput),
			}
			if e.VolumeSize != nil {
				m.Ebs.VolumeSize = awssdk.Int32(int32(api.VolumeGiB(*e.VolumeSize)))
			}
		}
		out = append(out, m)
	}
	return out
}

func int32Of(v *int64) *int32 {
	if v == nil {
		return nil
	}
	return awssdk.Int32(int32(*v))
}

// buildOf returns the build of a candidate. It is an error if no image runs on it.
func (c *Cloud) buildOf(candidate offer.Candidate, h *offer.Hardware, order *offer.Order, r *resolved) (build, error) {
	if r.profile.LaunchTemplate != nil {
		return build{}, nil // all candidates share it
	}
	b := build{capacityType: candidate.CapacityType, reservation: candidate.Reservation}
	b.unreserved = candidate.CapacityType == api.CapacityOnDemand && r.profile.Class != nil && len(r.profile.Class.Reservations) > 0
	settings := c.settings(r, order.Node.Kubelet)
	im, ok := lookup.ImageFor(r.images, settings.Labels(h))
	if !ok {
		return build{}, fmt.Errorf("no image of the node profile runs on %s", candidate.InstanceType)
	}
	b.imageID = im.ID
	if c.options.EFA {
		b.efas, b.plainFirst = h.EFAs, h.NoEFAOnDefaultCard
	}
	if r.family != api.FamilyCustom { // whose user data sets it
		b.maxPods = settings.Pods(h)
	}
	return b, nil
}
