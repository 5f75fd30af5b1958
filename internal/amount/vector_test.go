package amount

import "testing"

func TestCopies(t *testing.T) {
	for name, c := range map[string]struct {
		need, room  []int64
		limit, want int64
	}{
		"the scarcest decides":      {[]int64{2, 3}, []int64{10, 10}, 9, 3},
		"no more than the limit":    {[]int64{1, 1}, []int64{10, 10}, 4, 4},
		"too large":                 {[]int64{11}, []int64{10}, 4, 0},
		"less than none of it":      {[]int64{5}, []int64{-7}, 4, 0},
		"not needed, none of it":    {[]int64{2, 0}, []int64{10, -3}, 9, 5},
		"nothing needed":            {[]int64{0}, []int64{0}, 7, 7},
		"a resource that just fits": {[]int64{10}, []int64{10}, 7, 1},
	} {
		if got := Copies(c.need, c.room, c.limit); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

func TestGCD(t *testing.T) {
	for _, c := range [][3]int64{{12, 18, 6}, {0, 5, 5}, {5, 0, 5}, {7, 3, 1}} {
		if got := GCD(c[0], c[1]); got != c[2] {
			t.Errorf("GCD(%d, %d) = %d, want %d", c[0], c[1], got, c[2])
		}
	}
}
