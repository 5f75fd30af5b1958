package aws

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/lookup"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Reasons of a Provisioner's condition Ready=False.
const (
	reasonNoSubnets         = "NoSubnets"
	reasonNoSecurityGroups  = "NoSecurityGroups"
	reasonNoImages          = "NoImages"
	reasonNoInstanceTypes   = "NoInstanceTypes"
	reasonNoInstanceProfile = "NoInstanceProfile"
	reasonReservation       = "UnsupportedCapacityReservation"
)

// resolved is a node profile with everything that it refers to.
type resolved struct {
	profile         *api.NodeProfile // with default selectors
	setup           string           // hash of all that the profile says
	family          string
	cluster         *asset.Cluster
	subnets         []lookup.Subnet
	securityGroups  []lookup.SecurityGroup
	images          []lookup.Image // preferred ones first; none with a launch template of the user's own
	instanceProfile string
	role            lookup.Profile // of the role of an EC2NodeClass
	reservations    []lookup.Reservation
	noReservations  error // why the reservations are not known

	// blocked says why nothing can be launched; reason is that of the condition.
	blocked, reason string
}

// resolve looks up what a node profile refers to. A nil profile is the default one.
func (c *Cloud) resolve(ctx context.Context, profile *api.NodeProfile) (*resolved, error) {
	if profile == nil {
		profile = &api.NodeProfile{}
	}
	profile, errs := profile.DefaultSelectors(c.options.ClusterName, nil)
	if len(errs) > 0 {
		return nil, fmt.Errorf("complete node profile: %w", errs)
	}
	facts, err := c.cluster.Get(ctx)
	if err != nil {
		return nil, err
	}
	r := &resolved{
		profile: profile, cluster: facts,
		family:          ptr.Deref(profile.AMIFamily, offer.DefaultFamily(facts.Version)),
		instanceProfile: ptr.Deref(profile.InstanceProfile, c.options.DefaultInstanceProfile),
	}
	// The default instance profile may have another role than the class.
	if class := profile.Class; class != nil && class.Role != "" {
		if r.role, err = c.roles.ProfileOf(ctx, class.Role, ptr.Deref(profile.InstanceProfile, "")); err != nil {
			return nil, err
		}
		r.instanceProfile = r.role.Name
	}
	if r.subnets, err = c.network.Subnets(ctx, profile.SubnetSelectors()); err != nil {
		return nil, err
	}
	if profile.LaunchTemplate == nil {
		if r.securityGroups, err = c.network.SecurityGroups(ctx, profile.SecurityGroupSelectors()); err != nil {
			return nil, err
		}
		if r.images, err = c.images.Find(ctx, profile, r.family, facts.Version); err != nil {
			return nil, err
		}
	}
	if class := profile.Class; class != nil {
		r.reservations, r.noReservations = c.reservations.Find(ctx, class.Reservations)
	}
	text, err := json.Marshal([]any{profile, profile.Class})
	if err != nil {
		return nil, fmt.Errorf("hash node profile: %w", err)
	}
	r.setup = fmt.Sprintf("%x", sha256.Sum256(text))
	r.block()
	return r, nil
}

// block sets blocked and reason if something is missing for a launch.
func (r *resolved) block() {
	switch {
	case len(r.subnets) == 0:
		r.reason, r.blocked = reasonNoSubnets, "no subnet matches "+lookup.SelectorKeys(r.profile.SubnetSelectors())
	case r.profile.LaunchTemplate != nil: // the template determines the rest
	case r.windows() && r.cluster.IPv6:
		r.reason, r.blocked = reasonNoInstanceTypes, "EKS supports no Windows nodes in a cluster with IPv6: choose another AMI family than "+r.family
	case len(r.securityGroups) == 0:
		r.reason, r.blocked = reasonNoSecurityGroups, "no security group matches "+lookup.SelectorKeys(r.profile.SecurityGroupSelectors())
	case len(r.images) == 0 && len(r.profile.ImageSelectors()) > 0:
		r.reason, r.blocked = reasonNoImages, "no image matches "+lookup.SelectorKeys(lookup.ImageSelectors(r.profile))
	case len(r.images) == 0:
		r.reason = reasonNoImages
		r.blocked = fmt.Sprintf("there is no %s image for Kubernetes %s", strings.TrimSpace(r.family+" "+r.profile.ImageVersion()), r.cluster.Version)
	case r.instanceProfile == "":
		r.reason = reasonNoInstanceProfile
		r.blocked = "no instance profile: neither the node profile nor the agent's settings name one"
		if r.role.Missing != "" {
			r.blocked = "spec.role: " + r.role.Missing + "; create one for the role, or name one in spec.instanceProfile"
		}
	}
}

// windows reports whether the family's images are of Windows.
func (r *resolved) windows() bool {
	return r.family == api.FamilyWindows2019 || r.family == api.FamilyWindows2022
}

// zones returns the zones that have subnets, sorted.
func (r *resolved) zones() []string {
	zones := sets.New[string]()
	for _, s := range r.subnets {
		zones.Insert(s.Zone)
	}
	return sets.List(zones)
}

func (r *resolved) status(now time.Time) api.AWSNodeTemplateStatus {
	var out api.AWSNodeTemplateStatus
	for _, g := range r.securityGroups {
		out.SecurityGroups = append(out.SecurityGroups, g.SecurityGroupStatus)
	}
	for _, s := range r.subnets {
		out.Subnets = append(out.Subnets, api.SubnetStatus{ID: s.ID, Zone: s.Zone, FreeAddresses: s.Free})
	}
	for _, of := range r.reservations {
		out.Reservations = append(out.Reservations, of.ReservationStatus)
	}
	for _, im := range r.images {
		out.AMIs = append(out.AMIs, api.AMIStatus{ID: im.ID, Name: im.Name, Requirements: im.Requirements, Deprecated: im.Deprecated(now)})
	}
	return out
}

// settings returns the settings of machines with the profile.
func (c *Cloud) settings(r *resolved, kubelet *api.KubeletConfiguration) offer.Settings {
	options := c.options.NodeOptions
	options.PrefixDelegation = options.PrefixDelegation || r.cluster.IPv6 // the VPC CNI plugin takes IPv6 addresses from prefixes only
	return offer.Settings{
		Region:    c.region,
		Zones:     r.zones(),
		AMIFamily: r.family,
		Kubelet:   kubelet,
		Volumes:   r.profile.BlockDeviceMappings,

		InstanceStoreRAID: r.profile.JoinsLocalDisks(),
		NodeOptions:       options,
		IPv6:              r.cluster.IPv6,
	}
}
