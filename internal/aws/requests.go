package aws

import (
	"context"
	"fmt"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// TellRequests adds to a configuration that each request, and each attempt at one,
// is passed: its service ("EC2"), its operation ("CreateFleet") and the HTTP status of
// the answer, 0 for none. The function is called concurrently.
func TellRequests(cfg *awssdk.Config, tell func(service, operation string, code int)) {
	teller := middleware.DeserializeMiddlewareFunc("TellRequests", func(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
		middleware.DeserializeOutput, middleware.Metadata, error,
	) {
		out, metadata, err := next.HandleDeserialize(ctx, in)
		code := 0
		if resp, ok := out.RawResponse.(*smithyhttp.Response); ok && resp.Response != nil {
			code = resp.StatusCode
		}
		tell(awsmiddleware.GetServiceID(ctx), awsmiddleware.GetOperationName(ctx), code)
		return out, metadata, err
	})
	cfg.APIOptions = append(cfg.APIOptions, func(stack *middleware.Stack) error {
		return stack.Deserialize.Add(teller, middleware.After) // retries pass here too
	})
}

// reads begin the names of the operations that change nothing. What receives a
// message from a queue leaves it there.
var reads = []string{"AssumeRole", "Describe", "Get", "List", "Receive"}

// GuardRequests makes clients of the configuration call check before each attempt at a request
// that changes something. If check returns an error, the request is not sent and fails with
// that error. Nothing else happens between the check and sending the request.
func GuardRequests(cfg *awssdk.Config, check func() error) {
	guard := middleware.DeserializeMiddlewareFunc("GuardRequests", func(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
		middleware.DeserializeOutput, middleware.Metadata, error,
	) {
		operation := awsmiddleware.GetOperationName(ctx)
		if !slices.ContainsFunc(reads, func(prefix string) bool { return strings.HasPrefix(operation, prefix) }) {
			if err := check(); err != nil {
				return middleware.DeserializeOutput{}, middleware.Metadata{}, fmt.Errorf("not sent: %w", err)
			}
		}
		return next.HandleDeserialize(ctx, in)
	})
	cfg.APIOptions = append(cfg.APIOptions, func(stack *middleware.Stack) error {
		return stack.Deserialize.Add(guard, middleware.After)
	})
}
