package amount

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
)

func TestParse(t *testing.T) {
	for _, text := range []string{"1", "-1", "1.5Gi", "100m", "9E", "9Ei", "1e18", "1e-18", "1E+0000003", "12345678901234567890123456789012345678901234567890"} {
		q, err := Parse(text)
		if want := resource.MustParse(text); err != nil || q.Cmp(want) != 0 {
			t.Errorf("%s is %s, %v", text, q.String(), err)
		}
	}
	for _, text := range []string{"9E9999999", "1e-9999999", "1e+99999999", "1E1000", strings.Repeat("9", 101), "0." + strings.Repeat("0", 100000) + "1"} {
		if _, err := Parse(text); !errors.Is(err, ErrLong) {
			t.Errorf("%.12s…: %v", text, err)
		}
	}
	if _, err := Parse("a lot"); err == nil || errors.Is(err, ErrLong) {
		t.Errorf("a lot: %v", err)
	}
}

// TestFromHugeQuantity: what the API server has let through costs no time. This takes
// a quarter of an hour if it is compared digit by digit.
func TestFromHugeQuantity(t *testing.T) {
	huge := resource.MustParse("9E99999999")
	for _, name := range []string{CPU, Memory, Pods} {
		if got := FromQuantity(name, huge); got != Most {
			t.Errorf("%s: %d", name, got)
		}
	}
}
