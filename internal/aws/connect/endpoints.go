package connect

import (
	"reflect"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// serviceNames are the settings' names of services whose SDK id differs in more
// than its case.
var serviceNames = map[string]string{"eventbridge": "events"}

// useEndpoint gives a client the settings' endpoint of its service, in whatever
// package it is made. The SDK asks no other source than AWS_ENDPOINT_URL where that
// is set. The options of each service are a type of their own, and all have the field.
func (s Settings) useEndpoint(sdkID string, options any) {
	name := strings.ToLower(strings.ReplaceAll(sdkID, " ", ""))
	if renamed, ok := serviceNames[name]; ok {
		name = renamed
	}
	url := s.Endpoints[name]
	field := reflect.ValueOf(options).Elem().FieldByName("BaseEndpoint")
	if url != "" && field.IsValid() {
		field.Set(reflect.ValueOf(aws.String(url)))
	}
}
