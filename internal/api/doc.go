// Package api holds the custom resources that configure Packhorse: their Go
// types, defaults and CRDs. The provider, the agent, the CRD generator and the simulator
// share this one copy. Package validate has the rules, and package decode reads what
// people write.
//
// A label counts as said about its key: with the label kubernetes.io/arch no
// default requirement on the architecture is added.
//
// +kubebuilder:object:generate=true
package api
