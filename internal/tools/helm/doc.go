// Package helm renders the Helm chart with Helm's own packages. It is a module
// of its own because they weigh more than all that the product needs.
package helm
