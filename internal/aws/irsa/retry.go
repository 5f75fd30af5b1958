package irsa

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/aws/smithy-go"
)

// IAM's error codes that mean something here.
const (
	codeMissing        = "NoSuchEntity"
	codeExists         = "EntityAlreadyExists"
	codeDeleteConflict = "DeleteConflict"
	codeMalformed      = "MalformedPolicyDocument"
	codeConcurrent     = "ConcurrentModification"
	codeUnmodifiable   = "EntityTemporarilyUnmodifiable"
)

const (
	// readTimeout bounds a set of reads, with the SDK's retries.
	readTimeout = time.Minute
	// consistencyTimeout bounds the wait for a change to be known everywhere in
	// IAM, which takes seconds and rarely half a minute.
	consistencyTimeout = 45 * time.Second
	firstPause         = 250 * time.Millisecond
	longestPause       = 4 * time.Second
)

// untilConsistent repeats a call while IAM answers that something else is
// changing, or with an error that the caller expects of an account that has not
// become consistent yet. The last answer is returned when time runs out.
func untilConsistent(ctx context.Context, expected func(error) bool, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, consistencyTimeout)
	defer cancel()
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

func changing(err error) bool {
	return code(err) == codeConcurrent || code(err) == codeUnmodifiable
}

func missingEntity(err error) bool { return code(err) == codeMissing }

// unknownPrincipal recognises a trust policy whose principal IAM does not know
// yet. Any other malformed policy stays malformed.
func unknownPrincipal(err error) bool {
	var api smithy.APIError
	return errors.As(err, &api) && api.ErrorCode() == codeMalformed && strings.Contains(api.ErrorMessage(), "principal")
}

// gone turns the answer that something is not there into success.
func gone(err error) error {
	if code(err) == codeMissing {
		return nil
	}
	return err
}

// code returns the error code of an AWS error, empty for any other.
func code(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return strings.TrimSuffix(api.ErrorCode(), "Exception")
	}
	return ""
}
