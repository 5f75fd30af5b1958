// Package sim is a cluster and a cloud in memory, for tests: pods that
// ReplicaSet-like workloads keep up, a plain scheduler, kubelets that come up
// after a while or never, disruption budgets, and machines in pools of limited
// capacity. All time is read from package time, so that it is virtual inside
// testing/synctest.
//
// A World is the truth. Agents talk to it through the clients that Connect
// returns, which show a state that lags behind, and which can be made to fail or
// to die at any call.
package sim
