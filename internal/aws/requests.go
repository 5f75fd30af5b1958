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

// ObserveRequests makes clients of the configuration call observe after each attempt at a
// request, with the service ("EC2"), the operation ("CreateFleet") and the HTTP status of the
// response, or 0 if there was none. The function is called concurrently.
func ObserveRequests(cfg *awssdk.Config, observe func(service, operation string, code int)) {
	observer := middleware.DeserializeMiddlewareFunc("ObserveRequests", func(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
		middleware.DeserializeOutput, middleware.Metadata, error,
	) {
		out, metadata, err := next.HandleDeserialize(ctx, in)
		code := 0
		if resp, ok := out.RawResponse.(*smithyhttp.Response); ok && resp.Response != nil {
			code = resp.StatusCode
		}
		observe(awsmiddleware.GetServiceID(ctx), awsmiddleware.GetOperationName(ctx), code)
		return out, metadata, err
	})
	cfg.APIOptions = append(cfg.APIOptions, func(stack *middleware.Stack) error {
		return stack.Deserialize.Add(observer, middleware.After) // after the step that retries
	})
}

// readPrefixes are the prefixes of operations that change nothing. Receiving a message leaves
// it in the queue.
var readPrefixes = []string{"AssumeRole", "Describe", "Get", "List", "Receive"}

// GuardRequests makes clients of the configuration call check before each attempt at a request
// that changes something. If check returns an error, the request is not sent and fails with
// that error. Nothing else happens between the check and sending the request.
func GuardRequests(cfg *awssdk.Config, check func() error) {
	guard := middleware.DeserializeMiddlewareFunc("GuardRequests", func(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
		middleware.DeserializeOutput, middleware.Metadata, error,
	) {
		operation := awsmiddleware.GetOperationName(ctx)
		if !slices.ContainsFunc(readPrefixes, func(prefix string) bool { return strings.HasPrefix(operation, prefix) }) {
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
