// Package propertytest runs the tests of packages that have properties.
package propertytest

import (
	"flag"
	"os"
	"testing"
)

// Main is the TestMain of a package whose tests import pgregory.net/rapid. The properties
// are tried on the same cases every time, so that a change is assessed by what it changes;
// with EXPLORE=1 on new ones.
func Main(m *testing.M) {
	if os.Getenv("EXPLORE") == "" {
		if err := flag.Set("rapid.seed", "1"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
