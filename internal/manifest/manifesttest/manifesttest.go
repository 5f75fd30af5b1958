// Package manifesttest reads clusters for the tests of what works on them.
package manifesttest

import "github.com/packhorse-io/terraform-provider-packhorse/internal/manifest"

// Parse reads one file's content.
func Parse(name string, data []byte) (*manifest.Set, error) {
	b := manifest.NewBuilder()
	b.Add(name, data)
	return b.Build()
}
