// Package e2e tests the whole product as users meet it: the built binaries, the
// Terraform CLI, a real API server, scheduler and controllers, and AWS's wire
// protocols. Build with `make build controlplane` first; `make e2e` does it all.
package e2e
