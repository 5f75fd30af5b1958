package call

import (
	"context"
	"fmt"
	"time"
)

// maxPages is the largest number of pages of an answer. The longest list in an account is that
// of roles: there are at most 5,000 unless AWS raises the quota, and IAM returns 100 per page.
const maxPages = 500

// Pager is a paginator of the SDK.
type Pager[O, F any] interface {
	HasMorePages() bool
	NextPage(ctx context.Context, options ...F) (*O, error)
}

// EachPage calls use with each page in turn, until the first error. The timeout is that of the
// request for one page, including its retries.
func EachPage[O, F any](ctx context.Context, timeout time.Duration, p Pager[O, F], use func(*O)) error {
	for page := 0; p.HasMorePages(); page++ {
		if page == maxPages {
			return fmt.Errorf("the answer has more than %d pages", maxPages)
		}
		out, err := next(ctx, timeout, p)
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
