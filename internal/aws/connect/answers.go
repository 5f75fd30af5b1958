package connect

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// refuseEmptyAnswers makes an empty response an error. A proxy in front of AWS may send
// `{}`, which the SDK accepts as an output without fields: callers that expect a role or a
// cluster in it would find nil.
func refuseEmptyAnswers(stack *middleware.Stack) error {
	outermost := stack.Initialize //nolint:misspell // the name of the SDK
	return outermost.Add(middleware.InitializeMiddlewareFunc("RefuseEmptyAnswers", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
		middleware.InitializeOutput, middleware.Metadata, error,
	) {
		out, metadata, err := next.HandleInitialize(ctx, in)
		operation := awsmiddleware.GetOperationName(ctx)
		service := awsmiddleware.GetServiceID(ctx)
		if err == nil && isEmpty(out.Result, slices.Contains(listingServices, service)) {
			err = fmt.Errorf("%s %s: the response is empty; check that the endpoint is one of AWS", service, operation)
		}
		return out, metadata, err
	}), middleware.After)
}

// xmlServices respond in XML, by the SDK's service id. The SDK's XML decoder skips what it
// does not know, so that it would read a page in HTML, a document in JSON or nothing at all
// as an empty list.
var xmlServices = []string{"EC2", "IAM", "STS", "Auto Scaling"}

// refuseForeignAnswers makes a response that cannot come from AWS an error, such as the
// sign-in page of a proxy.
func refuseForeignAnswers(stack *middleware.Stack) error {
	return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("RefuseForeignAnswers", func(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
		middleware.DeserializeOutput, middleware.Metadata, error,
	) {
		out, metadata, err := next.HandleDeserialize(ctx, in)
		service := awsmiddleware.GetServiceID(ctx)
		if resp, ok := out.RawResponse.(*smithyhttp.Response); err == nil && ok && resp.StatusCode < http.StatusMultipleChoices {
			kind := resp.Header.Get("Content-Type")
			if strings.Contains(kind, "html") || !strings.Contains(kind, "xml") && slices.Contains(xmlServices, service) {
				err = fmt.Errorf("%s %s: the response has the content type %q; check that the endpoint is one of AWS", service, awsmiddleware.GetOperationName(ctx), kind)
			} else if slices.Contains(xmlServices, service) && holdsNothing(resp) {
				err = fmt.Errorf("%s %s: the response is empty; check that the endpoint is one of AWS", service, awsmiddleware.GetOperationName(ctx))
			}
		}
		return out, metadata, err
	}), middleware.After)
}

// holdsNothing reports whether a response has no body. The body can still be read then.
func holdsNothing(resp *smithyhttp.Response) bool {
	body := bufio.NewReader(resp.Body)
	_, err := body.Peek(1)
	resp.Body = struct {
		io.Reader
		io.Closer
	}{body, resp.Body}
	return errors.Is(err, io.EOF)
}

// listingServices always include a list in a response, even an empty one. Others, such as
// SQS, leave an empty list out.
var listingServices = []string{"EKS"}

// isEmpty reports whether an output lacks what it must have: at least one of its fields is
// a pointer or a list, and none is set. An output with a list or a map is not empty even if
// that is not set, unless the service always includes it.
func isEmpty(output any, lists bool) bool {
	v := reflect.Indirect(reflect.ValueOf(output))
	if v.Kind() != reflect.Struct {
		return false
	}
	expected := false
	for field, value := range v.Fields() {
		switch {
		case !field.IsExported() || field.Name == "ResultMetadata":
		case !value.IsZero(), !lists && (value.Kind() == reflect.Slice || value.Kind() == reflect.Map):
			return false
		case value.Kind() == reflect.Pointer || value.Kind() == reflect.Slice:
			expected = true
		}
	}
	return expected
}
