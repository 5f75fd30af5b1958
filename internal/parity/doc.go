// Package parity shows that what the provider simulates is what the agent does:
// both look at the same live cluster, and their plans are compared byte by byte.
package parity
