package account

import (
	"fmt"
	"net/http"
)

// APIError is an error as AWS reports it.
type APIError struct {
	Code    string
	Message string
	status  int
}

func (e *APIError) Error() string { return e.Code + ": " + e.Message }

// Fail returns an error of the client's making, status 400.
func Fail(code, format string, args ...any) *APIError {
	return &APIError{Code: code, Message: fmt.Sprintf(format, args...), status: http.StatusBadRequest}
}

// With returns the error with another HTTP status.
func (e *APIError) With(status int) *APIError {
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
	DeniedStatus int
	throttled    string
	throttleHTTP int
	unknownCall  string
}

// Ec2Dialect returns the wording of EC2.
func Ec2Dialect() dialect {
	return dialect{
		unknownKey: "AuthFailure", badSignature: "AuthFailure", expiredToken: "RequestExpired", missingToken: "AuthFailure",
		denied: "UnauthorizedOperation", DeniedStatus: http.StatusForbidden,
		throttled: "RequestLimitExceeded", throttleHTTP: http.StatusServiceUnavailable,
		unknownCall: "InvalidAction",
	}
}

// QueryDialect returns the wording of the services that speak the query protocol: IAM,
// STS and Auto Scaling.
func QueryDialect() dialect {
	return dialect{
		unknownKey: "InvalidClientTokenId", badSignature: "SignatureDoesNotMatch", expiredToken: "ExpiredToken", missingToken: "MissingAuthenticationToken",
		denied: "AccessDenied", DeniedStatus: http.StatusForbidden,
		throttled: "Throttling", throttleHTTP: http.StatusBadRequest,
		unknownCall: "InvalidAction",
	}
}

// JSONDialect returns the wording of the services that answer in JSON, EKS among them.
func JSONDialect() dialect {
	return dialect{
		unknownKey: "UnrecognizedClientException", badSignature: "InvalidSignatureException", expiredToken: "ExpiredTokenException", missingToken: "MissingAuthenticationTokenException",
		denied: "AccessDeniedException", DeniedStatus: http.StatusBadRequest,
		throttled: "ThrottlingException", throttleHTTP: http.StatusBadRequest,
		unknownCall: "UnknownOperationException",
	}
}
