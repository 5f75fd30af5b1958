// Package release checks the configuration by which goreleaser publishes, with
// goreleaser's own reader. It is a module of its own because of what that needs.
package release
