// Package pack decides where pods go: onto nodes that exist or are being
// started, and onto machines to be bought. It works on classes of pods that
// do not differ for a plan, and keeps prices in micro-dollars per hour.
//
// It is the front of other packages that pass an assignment to each other: place finds places
// on nodes and says what is to be bought, purchase buys it, and proof says how much cheaper it
// could be. This package takes turns with them, confirms the result as kube-scheduler will
// carry it out, and says why pods have no place.
package pack

import "github.com/packhorse-io/terraform-provider-packhorse/internal/assign"

type (
	// Problem is everything that a packing depends on.
	Problem = assign.Problem
	// Provisioner is a Provisioner with what it may buy.
	Provisioner = assign.Provisioner
	// Demand is a pod that needs a place.
	Demand = assign.Demand
	// Place is what was found for a pod.
	Place = assign.Place
	// Heuristic is a step of planning that only makes plans cheaper or planning quicker.
	Heuristic = assign.Heuristic
)

// Search is the heuristic that ruins and recreates parts of a purchase.
const Search = assign.Search

// Heuristics lists all of them.
func Heuristics() []Heuristic { return assign.Heuristics() }
