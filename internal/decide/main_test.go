package decide

import (
	"flag"
	"os"
	"testing"
)

// In CI the properties are tried on the same cases every time, so that a change
// is judged by what it changes. Everywhere else they are tried on new ones.
func TestMain(m *testing.M) {
	if os.Getenv("CI") != "" {
		if err := flag.Set("rapid.seed", "1"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
