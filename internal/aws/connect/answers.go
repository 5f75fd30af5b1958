package connect

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
)

// refuseEmptyAnswers makes an answer that says nothing an error. The SDK takes `{}`,
// which something between us and AWS may send, for an answer: whoever reads the role
// or the cluster in it would find nil, and whoever reads the URL of a queue none.
func refuseEmptyAnswers(stack *middleware.Stack) error {
	outermost := stack.Initialize //nolint:misspell // the name of the SDK
	return outermost.Add(middleware.InitializeMiddlewareFunc("RefuseEmptyAnswers", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
		middleware.InitializeOutput, middleware.Metadata, error,
	) {
		out, metadata, err := next.HandleInitialize(ctx, in)
		operation := awsmiddleware.GetOperationName(ctx)
		if err == nil && !strings.HasPrefix(operation, "Delete") && saysNothing(out.Result) {
			err = fmt.Errorf("%s %s: the answer is empty: is there something else than AWS at the endpoint?", awsmiddleware.GetServiceID(ctx), operation)
		}
		return out, metadata, err
	}), middleware.After)
}

// saysNothing reports whether an output that is one thing, and no list of which there
// may be none, is not there.
func saysNothing(output any) bool {
	v := reflect.Indirect(reflect.ValueOf(output))
	if v.Kind() != reflect.Struct {
		return false
	}
	one := false
	for field, value := range v.Fields() {
		switch {
		case !field.IsExported() || field.Name == "ResultMetadata":
		case value.Kind() == reflect.Slice || value.Kind() == reflect.Map || !value.IsZero():
			return false
		case value.Kind() == reflect.Pointer:
			one = true
		}
	}
	return one
}
