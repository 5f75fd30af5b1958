package call

import (
	"errors"
	"regexp"

	"github.com/aws/smithy-go"
)

// deniedAction is what AWS says of a call that it denies.
var deniedAction = regexp.MustCompile(`not authorized to perform: (\S+ on resource: \S+|\S+)`)

// Denied reports whether AWS denied a call for lack of a permission, and which one: the action and the resource
// where AWS names them, or else the whole error.
func Denied(err error) (permission string, denied bool) {
	switch Code(err) {
	case "AccessDenied", "UnauthorizedOperation":
	default:
		return "", false
	}
	api, _ := errors.AsType[smithy.APIError](err)
	if named := deniedAction.FindStringSubmatch(api.ErrorMessage()); named != nil {
		return named[1], true
	}
	return err.Error(), true
}
