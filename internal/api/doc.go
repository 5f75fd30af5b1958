// Package api holds the custom resources that configure Packhorse: their Go
// types, defaults, validation and CRDs. The provider, the agent, the CRD
// generator and the simulator share this one copy.
//
// +kubebuilder:object:generate=true
package api
