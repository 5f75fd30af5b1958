// Package helm renders the Helm chart with Helm's own packages, and has Helm itself
// as a tool, with which the end-to-end tests install the chart. It is a module of
// its own because they weigh more than all that the product needs.
package helm
