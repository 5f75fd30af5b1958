package aws

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/smithy-go"
)

// While EC2 throttles, a termination of many instances does not become a request for each of them.
// It does if one of the instances cannot be terminated.
func TestTerminationOfManyIsDividedOnlyForTheSakeOfOne(t *testing.T) {
	for code, want := range map[string]struct{ requests, gone int }{
		"RequestLimitExceeded":  {requests: 1},
		"OperationNotPermitted": {requests: 4, gone: 2}, // one of them is protected
	} {
		t.Run(code, func(t *testing.T) {
			f := start(t)
			all := ids(f.launch(t, order("launch-1", 3, onDemand("m5.large", "a"))).Instances)
			terminate, requests := f.writes.TerminateInstances, 0
			f.writes.TerminateInstances = func(ctx context.Context, in *ec2.TerminateInstancesInput, o ...func(*ec2.Options)) (*ec2.TerminateInstancesOutput, error) {
				requests++
				if code == "OperationNotPermitted" && len(in.InstanceIds) == 1 && in.InstanceIds[0] != all[0] {
					return terminate(ctx, in, o...)
				}
				return nil, &smithy.GenericAPIError{Code: code}
			}
			gone, err := f.Terminate(t.Context(), all)
			if err == nil || requests != want.requests || len(gone) != want.gone {
				t.Errorf("%d requests, %v gone, error %v; want %d requests and %d gone", requests, gone, err, want.requests, want.gone)
			}
		})
	}
}
