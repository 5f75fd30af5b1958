// Package call makes calls of AWS for those who wait for the answer: it repeats
// calls until AWS has become consistent, reads answers that come in pages, and
// converts tags.
package call

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/smithy-go"
)

// Error codes of IAM, without the suffix Exception that some services add.
const (
	Missing        = "NoSuchEntity"
	Exists         = "EntityAlreadyExists"
	DeleteConflict = "DeleteConflict"

	malformed    = "MalformedPolicyDocument"
	concurrent   = "ConcurrentModification"
	unmodifiable = "EntityTemporarilyUnmodifiable"
)

const (
	// ReadTimeout bounds a set of reads, with the SDK's retries.
	ReadTimeout = time.Minute
	// timeout bounds the wait for a change to be known everywhere, which takes
	// seconds and rarely half a minute, where the caller sets no deadline.
	timeout      = 45 * time.Second
	firstPause   = 250 * time.Millisecond
	longestPause = 4 * time.Second
)

// Eventually repeats a call while AWS answers that something else is changing, or
// with an error that the caller expects of an account that has not become
// consistent yet. The last answer is returned when time runs out: at the deadline
// of the context, or after 45 seconds if it has none.
func Eventually(ctx context.Context, expected func(error) bool, call func(context.Context) error) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := call(ctx)
		if err == nil || !changing(err) && (expected == nil || !expected(err)) {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return err
		case <-timer.C:
		}
	}
}

func changing(err error) bool { return Code(err) == concurrent || Code(err) == unmodifiable }

// IsMissing recognises the answer that IAM does not know something, which it may
// learnt of a moment ago.
func IsMissing(err error) bool { return Code(err) == Missing }

// UnknownPrincipal recognises a trust policy whose principal IAM does not know
// yet. Any other malformed policy stays malformed.
func UnknownPrincipal(err error) bool {
	return Code(err) == malformed && Says(err, "principal")
}

// Gone turns the answer that something is not there into success.
func Gone(err error) error {
	if IsMissing(err) {
		return nil
	}
	return err
}

// Code returns the error code of an AWS error, empty for any other.
func Code(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return strings.TrimSuffix(api.ErrorCode(), "Exception")
	}
	return ""
}

// Says reports whether the message of an AWS error has the text in it.
func Says(err error, text string) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	return ok && strings.Contains(api.ErrorMessage(), text)
}

// Explain says which part of a change an error belongs to.
func Explain(operation string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: AWS has not become consistent in time: %w", operation, err)
	}
	return fmt.Errorf("%s: %w", operation, err)
}
