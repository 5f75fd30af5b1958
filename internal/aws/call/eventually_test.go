package call

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/smithy-go"
)

func apiError(code, message string) error {
	return &smithy.GenericAPIError{Code: code, Message: message}
}

func TestEventually(t *testing.T) {
	lag := apiError(missing, "not yet")
	tests := map[string]struct {
		answers  []error // the last one repeats
		expected func(error) bool
		calls    int // 0 for any number
		want     error
	}{
		"at once":                   {[]error{nil}, nil, 1, nil},
		"after a lag":               {[]error{lag, lag, nil}, IsMissing, 3, nil},
		"while something changes":   {[]error{apiError(concurrent, ""), apiError(unmodifiable, ""), nil}, nil, 3, nil},
		"an error that is none":     {[]error{lag}, nil, 1, lag},
		"a lag without end":         {[]error{lag}, IsMissing, 0, lag},
		"an error after some lag":   {[]error{lag, errors.ErrUnsupported}, IsMissing, 2, errors.ErrUnsupported},
		"a principal to be known":   {[]error{apiError(malformed, "Invalid principal in policy"), nil}, UnknownPrincipal, 2, nil},
		"a policy that is no JSON":  {[]error{apiError(malformed, "Syntax error")}, UnknownPrincipal, 1, apiError(malformed, "Syntax error")},
		"the long form of the code": {[]error{apiError("ConcurrentModificationException", ""), nil}, nil, 2, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start, calls := time.Now(), 0
				err := Eventually(t.Context(), tt.expected, func(context.Context) error {
					calls++
					return tt.answers[min(calls, len(tt.answers))-1]
				})
				if (err == nil) != (tt.want == nil) || err != nil && err.Error() != tt.want.Error() {
					t.Errorf("error = %v, want %v", err, tt.want)
				}
				if tt.calls > 0 && calls != tt.calls {
					t.Errorf("called %d times, want %d", calls, tt.calls)
				}
				if took := time.Since(start); took > timeout+time.Second {
					t.Errorf("took %s, the bound is %s", took, timeout)
				}
			})
		})
	}
}

// Somebody whose account takes longer can wait longer.
func TestEventuallyKeepsTheDeadlineOfItsCaller(t *testing.T) {
	for _, patience := range []time.Duration{timeout / 5, 5 * timeout} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			start := time.Now()
			if err := Eventually(ctx, IsMissing, func(context.Context) error { return apiError(missing, "not yet") }); !IsMissing(err) {
				t.Errorf("error = %v", err)
			}
			if took := time.Since(start); took != patience {
				t.Errorf("waited %s, want %s", took, patience)
			}
		})
	}
}

func TestIgnoreMissing(t *testing.T) {
	if err := IgnoreMissing(apiError(missing, "")); err != nil {
		t.Errorf("what is gone already is an error: %v", err)
	}
	if err := IgnoreMissing(errors.ErrUnsupported); err == nil {
		t.Error("an error has been lost")
	}
}
