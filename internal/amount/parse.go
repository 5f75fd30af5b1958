package amount

import (
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Quantities of more digits, or with exponents of more, are no amounts of anything,
// and reading or comparing them takes seconds and more: the time grows with the
// square of the exponent.
const (
	mostDigits         = 100
	mostExponentDigits = 3
)

// ErrLong is what Parse says of a quantity that nobody means.
var ErrLong = errors.New("must have at most 100 digits, and an exponent below 1000; write it with a suffix, such as 9Ei")

// Parse reads a quantity that a user has written.
func Parse(text string) (resource.Quantity, error) {
	if Long(text) {
		return resource.Quantity{}, ErrLong
	}
	return resource.ParseQuantity(text)
}

// Long reports whether a text is too long for a quantity, or has too large an exponent.
func Long(text string) bool {
	_, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	return len(text) > mostDigits || len(strings.TrimLeft(exponent, "+-0")) > mostExponentDigits
}
