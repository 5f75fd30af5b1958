// Package call helps with requests to AWS: it repeats them until AWS has become
// consistent, reads paginated answers, and converts tags.
package call

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/aws/smithy-go"
	smithytime "github.com/aws/smithy-go/time"
)

// Error codes as Code returns them. Those without another service's name are IAM's.
const (
	Exists         = "EntityAlreadyExists"
	DeleteConflict = "DeleteConflict"
	LimitExceeded  = "LimitExceeded"
	// InvalidParameter is a code of EKS.
	InvalidParameter = "InvalidParameter"

	missing      = "NoSuchEntity"
	notFound     = "ResourceNotFound" // of EKS and EventBridge
	malformed    = "MalformedPolicyDocument"
	concurrent   = "ConcurrentModification"
	unmodifiable = "EntityTemporarilyUnmodifiable"
)

const (
	// ReadTimeout is the time limit of a read, including the SDK's retries.
	ReadTimeout = time.Minute
	// timeout is the time limit of Eventually for callers that set none. AWS usually
	// becomes consistent within seconds, and rarely takes half a minute.
	timeout      = 45 * time.Second
	firstPause   = 250 * time.Millisecond
	longestPause = 4 * time.Second
)

// Eventually repeats a call while AWS answers that another change is in progress, or
// with an error that the caller expects until AWS has become consistent; a nil expected
// expects none. It returns the last error at the deadline of the context, or after 45
// seconds if the context has no deadline.
func Eventually(ctx context.Context, expected func(error) bool, call func(context.Context) error) error {
	return EventuallyWithin(ctx, timeout, expected, call)
}

// EventuallyWithin is Eventually with another time limit for a context without a deadline.
func EventuallyWithin(ctx context.Context, limit time.Duration, expected func(error) bool, call func(context.Context) error) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := call(ctx)
		if err == nil || !changing(err) && (expected == nil || !expected(err)) {
			return err
		}
		if smithytime.SleepWithContext(ctx, pause) != nil {
			return err
		}
	}
}

// Invoke makes a call of an AWS client as Eventually does.
func Invoke[I, O, F any](ctx context.Context, expected func(error) bool, call func(context.Context, *I, ...F) (*O, error), in *I) (out *O, err error) {
	err = Eventually(ctx, expected, func(ctx context.Context) error {
		out, err = call(ctx, in)
		return err
	})
	return out, err
}

// Change is Invoke for a call of which only the error matters.
func Change[I, O, F any](ctx context.Context, expected func(error) bool, call func(context.Context, *I, ...F) (*O, error), in *I) error {
	_, err := Invoke(ctx, expected, call, in)
	return err
}

func changing(err error) bool { return Code(err) == concurrent || Code(err) == unmodifiable }

// IsMissing reports whether IAM, EKS or EventBridge answered that something does not
// exist. For some seconds, IAM also says so of what has just been created.
func IsMissing(err error) bool { return Code(err) == missing || Code(err) == notFound }

// UnknownPrincipal reports whether IAM refused a trust policy because it does not know
// the principal, which may have been created a moment ago.
func UnknownPrincipal(err error) bool {
	return Code(err) == malformed && Says(err, "principal")
}

// IgnoreMissing returns nil for an error that IsMissing recognises, and any other error
// as it is.
func IgnoreMissing(err error) error {
	if IsMissing(err) {
		return nil
	}
	return err
}

// NotExist returns fs.ErrNotExist for an error that IsMissing recognises, and any other error
// as it is.
func NotExist(err error) error {
	if IsMissing(err) {
		return fs.ErrNotExist
	}
	return err
}

// Code returns the code of an AWS error, without the suffix Exception that some services
// add. It is empty for any other error.
func Code(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return strings.TrimSuffix(api.ErrorCode(), "Exception")
	}
	return ""
}

// Says reports whether err is an AWS error whose message contains the text.
func Says(err error, text string) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	return ok && strings.Contains(api.ErrorMessage(), text)
}

// Explain names the operation that failed, and says so if AWS did not become consistent
// before the deadline. A nil error stays nil.
func Explain(operation string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: AWS has not become consistent in time: %w", operation, err)
	}
	return fmt.Errorf("%s: %w", operation, err)
}
