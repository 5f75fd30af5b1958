package connect

import (
	"reflect"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// useEndpoint sets the endpoint of each client that is made from the configuration. An
// endpoint resolver in the configuration would not do: the SDK ignores it if
// AWS_ENDPOINT_URL is set. The options of each service are a type of their own, which has a
// field BaseEndpoint.
func (s Settings) useEndpoint(sdkID string, options any) {
	name := strings.ToLower(strings.ReplaceAll(sdkID, " ", ""))
	if name == "eventbridge" {
		name = "events" // as the AWS CLI calls it
	}
	url := s.Endpoints[name]
	field := reflect.ValueOf(options).Elem().FieldByName("BaseEndpoint")
	if url != "" && field.IsValid() {
		field.Set(reflect.ValueOf(aws.String(url)))
	}
}
