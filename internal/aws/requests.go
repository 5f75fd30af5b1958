package aws

import (
	"context"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// TellRequests adds to a configuration that each request, and each attempt at one,
// is told: its service ("EC2"), its operation ("CreateFleet") and the HTTP status of
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
