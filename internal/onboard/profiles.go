package onboard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"
)

// Programs that make instance profiles of their own, and delete them with what they were made
// for.
const (
	eksKeeper       = "EKS"
	karpenterKeeper = "Karpenter"
)

// nodeClassTag is on the instance profiles that Karpenter makes for an EC2NodeClass.
const nodeClassTag = "karpenter.k8s.aws/ec2nodeclass"

// keeperOf is the program that manages the profile, empty for the account's own.
func keeperOf(p asset.Profile) string {
	if strings.HasPrefix(p.Name, "eks-") {
		return eksKeeper
	}
	if _, made := p.Tags[nodeClassTag]; made {
		return karpenterKeeper
	}
	return ""
}

// profilesOfRoles looks up the instance profiles of the roles that EC2NodeClasses name.
func profilesOfRoles(ctx context.Context, documents []map[string]any, account Account) (map[string]karpenter.Profile, error) {
	out := map[string]karpenter.Profile{}
	for _, document := range documents {
		spec, _ := document["spec"].(map[string]any)
		role, _ := spec["role"].(string)
		if _, seen := out[role]; seen || role == "" || document["kind"] != kinds.NodeClassKind {
			continue
		}
		profiles, err := account.ProfilesOf(ctx, role)
		switch left, isDenied := errors.AsType[DeniedError](err); {
		case isDenied:
			out[role] = karpenter.Profile{Missing: "AWS denies a permission: " + left.Error()}
		case errors.Is(err, fs.ErrNotExist):
			out[role] = karpenter.Profile{Missing: fmt.Sprintf("the account has no role %s", role)}
		case err != nil:
			return nil, err
		default:
			out[role] = profileFor(role, profiles)
		}
	}
	return out, nil
}

// profileFor chooses the instance profile that machines of a role get. Those that other
// programs manage are not chosen: Karpenter deletes its own with the EC2NodeClass, while our
// machines still need it.
func profileFor(role string, profiles []asset.Profile) karpenter.Profile {
	var free, kept []string
	for _, p := range profiles {
		if keeper := keeperOf(p); keeper != "" {
			kept = append(kept, fmt.Sprintf("%s, which %s keeps", p.Name, keeper))
		} else {
			free = append(free, p.Name)
		}
	}
	switch {
	case len(free) == 1:
		return karpenter.Profile{Name: free[0]}
	case len(free) > 1:
		return karpenter.Profile{Missing: fmt.Sprintf("the role %s has several instance profiles (%s)", role, strings.Join(free, ", "))}
	case len(kept) > 0:
		return karpenter.Profile{Missing: fmt.Sprintf("the role %s has no instance profile but %s", role, strings.Join(kept, "; "))}
	}
	return karpenter.Profile{Missing: fmt.Sprintf("the role %s has no instance profile", role)}
}
