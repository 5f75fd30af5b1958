// Package match answers whether a pod may go to a place, and if not, why. Places
// are nodes that exist and machines that could be bought. What does not match is
// a value (Miss) that can be shown to a person.
package match
