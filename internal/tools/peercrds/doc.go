// Package peercrds asks the API server, with the definitions that Karpenter publishes,
// what it says to NodePools and EC2NodeClasses. It is a module of its own, because
// nothing but this test needs Karpenter's module.
package peercrds
