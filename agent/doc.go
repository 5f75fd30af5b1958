// Package agent runs in a cluster and gives it the nodes that it needs: it
// observes the cluster and the cloud, lets the decision core plan, verifies the
// plan on fresh state, acts, and reports.
//
// All state lives in the Kubernetes API and in the cloud. The agent may be
// stopped at any instruction; its successor finds what it needs in those two.
package agent
