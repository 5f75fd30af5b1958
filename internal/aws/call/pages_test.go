package call

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// book has so many pages, of which one cannot be read.
type book struct {
	pages, at, torn int
	deadlines       int
}

func (b *book) HasMorePages() bool { return b.at < b.pages }

func (b *book) NextPage(ctx context.Context, _ ...int) (*int, error) {
	if _, ok := ctx.Deadline(); ok {
		b.deadlines++
	}
	b.at++
	if b.at == b.torn {
		return nil, errors.New("torn")
	}
	page := b.at
	return &page, nil
}

func TestEachPage(t *testing.T) {
	for name, c := range map[string]struct {
		book book
		want []int
		err  string
	}{
		"none":           {book: book{}},
		"all of them":    {book: book{pages: 3}, want: []int{1, 2, 3}},
		"up to an error": {book: book{pages: 3, torn: 2}, want: []int{1}, err: "torn"},
	} {
		var got []int
		err := EachPage(t.Context(), time.Minute, &c.book, func(page *int) { got = append(got, *page) })
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if c.err == "" && err != nil || c.err != "" && (err == nil || err.Error() != c.err) {
			t.Errorf("%s: got error %v, want %q", name, err, c.err)
		}
		if c.book.deadlines != c.book.at {
			t.Errorf("%s: %d of %d calls had a deadline", name, c.book.deadlines, c.book.at)
		}
	}
}

func TestEachPageEnds(t *testing.T) {
	b := &book{pages: 1_000_000}
	err := EachPage(t.Context(), time.Minute, b, func(*int) {})
	if err == nil || !strings.Contains(err.Error(), "more than 500 pages") || b.at != maxPages {
		t.Errorf("read %d pages: %v", b.at, err)
	}
}
