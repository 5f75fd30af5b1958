// Package conformance holds the tests that compare what Packhorse decides with
// what Kubernetes itself does. docs/conformance.md explains the method.
package conformance
