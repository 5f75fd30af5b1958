package call

import (
	"context"
	"fmt"
	"time"
)

// Bounds limit how a paginated answer is read.
type Bounds struct {
	// Timeout is the time limit of the request for one page, including its retries.
	Timeout time.Duration
	// Pages is the largest number of pages. An answer with more is an error.
	Pages int
}

// Lists are the bounds of lists in an account. The longest is that of roles: an account
// has at most 5,000 unless AWS raises its quota, and IAM returns 100 per page.
var Lists = Bounds{Timeout: ReadTimeout, Pages: 500}

// Pager is a paginator of the SDK.
type Pager[O, F any] interface {
	HasMorePages() bool
	NextPage(ctx context.Context, options ...F) (*O, error)
}

// EachPage calls use with each page in turn, until the first error.
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
