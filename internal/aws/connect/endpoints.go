package connect

import (
	"context"
	"strings"
)

// endpoints are URLs by service that every client made from a configuration
// uses, before those that the SDK finds in the environment. It is a source of
// configuration in the form in which the SDK asks its own sources.
type endpoints map[string]string

// serviceNames are the settings' names of services whose SDK id differs in more
// than its case.
var serviceNames = map[string]string{"eventbridge": "events"}

// GetServiceBaseEndpoint answers for the SDK's id of a service, such as "EC2".
func (e endpoints) GetServiceBaseEndpoint(_ context.Context, sdkID string) (string, bool, error) {
	name := strings.ToLower(strings.ReplaceAll(sdkID, " ", ""))
	if renamed, ok := serviceNames[name]; ok {
		name = renamed
	}
	url := e[name]
	return url, url != "", nil
}
