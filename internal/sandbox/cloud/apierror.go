package cloud

import (
	"fmt"
	"net/http"
)

// apiError is an error as AWS reports it.
type apiError struct {
	code    string
	message string
	status  int
}

func (e *apiError) Error() string { return e.code + ": " + e.message }

// fail returns an error of the client's making, status 400.
func fail(code, format string, args ...any) *apiError {
	return &apiError{code: code, message: fmt.Sprintf(format, args...), status: http.StatusBadRequest}
}

// with returns the error with another HTTP status.
func (e *apiError) with(status int) *apiError {
	copied := *e
	copied.status = status
	return &copied
}

// dialect is how a service words the errors that all services have.
type dialect struct {
	unknownKey   string
	badSignature string
	expiredToken string
	missingToken string
	denied       string
	deniedStatus int
	throttled    string
	throttleHTTP int
	malformed    string
	unknownCall  string
}

func ec2Dialect() dialect {
	return dialect{
		unknownKey: "AuthFailure", badSignature: "AuthFailure", expiredToken: "RequestExpired", missingToken: "AuthFailure",
		denied: "UnauthorizedOperation", deniedStatus: http.StatusForbidden,
		throttled: "RequestLimitExceeded", throttleHTTP: http.StatusServiceUnavailable,
		malformed: "InvalidParameterValue", unknownCall: "InvalidAction",
	}
}

func queryDialect() dialect {
	return dialect{
		unknownKey: "InvalidClientTokenId", badSignature: "SignatureDoesNotMatch", expiredToken: "ExpiredToken", missingToken: "MissingAuthenticationToken",
		denied: "AccessDenied", deniedStatus: http.StatusForbidden,
		throttled: "Throttling", throttleHTTP: http.StatusBadRequest,
		malformed: "ValidationError", unknownCall: "InvalidAction",
	}
}

func jsonDialect() dialect {
	return dialect{
		unknownKey: "UnrecognizedClientException", badSignature: "InvalidSignatureException", expiredToken: "ExpiredTokenException", missingToken: "MissingAuthenticationTokenException",
		denied: "AccessDeniedException", deniedStatus: http.StatusBadRequest,
		throttled: "ThrottlingException", throttleHTTP: http.StatusBadRequest,
		malformed: "ValidationException", unknownCall: "UnknownOperationException",
	}
}
