package call

import (
	"context"
	"fmt"
	"time"
)

// Bounds of an answer.
type Bounds struct {
	// Timeout of the call for one page, with its retries.
	Timeout time.Duration
	// Pages that are read; more are an error.
	Pages int
}

// Lists are the bounds of lists in an account: IAM allows it at most 5,000 roles, a hundred
// to a page, unless more are asked for.
var Lists = Bounds{Timeout: ReadTimeout, Pages: 500}

// Pager is a paginator of the SDK.
type Pager[O, F any] interface {
	HasMorePages() bool
	NextPage(ctx context.Context, options ...F) (*O, error)
}

// EachPage calls use with each page.
func EachPage[O, F any](ctx context.Context, b Bounds, p Pager[O, F], use func(*O)) error {
	for page := 0; p.HasMorePages(); page++ {
		if page == b.Pages {
			return fmt.Errorf("the answer has more than %d pages", b.Pages)
		}
		out, err := next(ctx, b.Timeout, p)
		if err != nil {
			return err
		}
		use(out)
	}
	return nil
}

func next[O, F any](ctx context.Context, timeout time.Duration, p Pager[O, F]) (*O, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return p.NextPage(ctx)
}
