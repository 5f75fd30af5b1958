// Package archtest holds the rules of the architecture as tests: who may import
// whom, how long things may be, and what the core may not use. It looks at what
// exists, so that it needs no list of packages.
package archtest
