package refusal

import "testing"

// If all offerings fail so, the launch fails with EC2's message: other offerings would fail alike.
func TestMisconfiguredTellsWhatMachinesAreBuiltFrom(t *testing.T) {
	for code, want := range map[string]bool{
		"InvalidAMIID.NotFound":                   true,
		"MissingParameter":                        true,
		"SecurityGroupsPerInterfaceLimitExceeded": true,
		"SecurityGroupsPerInstanceLimitExceeded":  true,
		"TagLimitExceeded":                        true,
		"VcpuLimitExceeded":                       false,
		"InvalidFleetConfiguration":               false,
		"NetworkInterfaceLimitExceeded":           false,
		"InvalidCapacityReservationId.NotFound":   false,
	} {
		if got := Misconfigured(code, ""); got != want {
			t.Errorf("%s: %t, want %t", code, got, want)
		}
	}
}

// A role that lacks no permission is not said to lack one: EC2 says which policy denies the launch.
func TestMessageNamesWhatDenies(t *testing.T) {
	const said = "You are not authorized to perform this operation. User: arn:aws:sts::123456789012:assumed-role/agent/1 " +
		"is not authorized to perform: ec2:RunInstances on resource: arn:aws:ec2:eu-west-1:123456789012:instance/*"
	const lacks = "the agent's role lacks the permission ec2:RunInstances on arn:aws:ec2:eu-west-1:123456789012:instance/*"
	const denied = "the agent's role is denied ec2:RunInstances on arn:aws:ec2:eu-west-1:123456789012:instance/*"
	for why, want := range map[string]string{
		".": lacks,
		" because no identity-based policy allows the ec2:RunInstances action.": lacks,
		" with an explicit deny in a service control policy.":                   denied + " with an explicit deny in a service control policy",
		" because no permissions boundary allows the ec2:RunInstances action.":  denied + " because no permissions boundary allows the ec2:RunInstances action",
	} {
		got := Message("UnauthorizedOperation", said+why+" Encoded authorization failure message: aBc-_d")
		if got != "UnauthorizedOperation: "+want {
			t.Errorf("%q: %s", why, got)
		}
	}
}
