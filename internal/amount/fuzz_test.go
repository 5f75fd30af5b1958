package amount

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
)

// FuzzQuantity holds that every quantity is an amount that can be reckoned with, in
// the same order, and that amounts come back as they were.
func FuzzQuantity(f *testing.F) {
	for _, text := range []string{"100m", "1", "1.5Gi", "-1", "9E", "1e18", "1e-18", "123456789012345678901234567890", "0.0001", "7Ei", "9E9999999", "1e-9999999"} {
		f.Add(text, "2")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, name := range []string{CPU, Memory, Pods} {
			x, ok := parsed(name, a)
			if !ok {
				return
			}
			if again := FromQuantity(name, Quantity(name, x)); again != x {
				t.Errorf("%s %s is %d, and again %d", name, a, x, again)
			}
			y, ok := parsed(name, b)
			if !ok {
				continue
			}
			if sum := (List{name: x}).Plus(List{name: y})[name]; sum < x || sum < y {
				t.Errorf("%s %s and %s are %d together", name, a, b, sum)
			}
			p, q := resource.MustParse(a), resource.MustParse(b)
			if p.Cmp(q) < 0 && x > y {
				t.Errorf("%s %s is %d, and %s, which is more, is %d", name, a, x, b, y)
			}
		}
	})
}

func parsed(name, text string) (int64, bool) {
	q, err := Parse(text)
	if err != nil {
		return 0, false
	}
	return FromQuantity(name, q), true
}
