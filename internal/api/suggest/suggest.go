// Package suggest finds what somebody meant who wrote a word, an amount or a duration that
// cannot be.
package suggest

import (
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// synonyms are names from other places for values of the API, in lower case.
var synonyms = map[string]string{
	"x86_64": "amd64", "x86-64": "amd64", "x64": "amd64", "aarch64": "arm64", "arm": "arm64",
	"ondemand": "on-demand", "demand": "on-demand",
	"=": "In", "==": "In", "equal": "In", "equals": "In", "!=": "NotIn",
	">": "Gt", ">=": "Gte", "<": "Lt", "<=": "Lte",
	"greaterthan": "Gt", "lessthan": "Lt",
	"on": "enabled", "off": "disabled",
	"mem": "memory", "ram": "memory", "disk": "ephemeral-storage", "storage": "ephemeral-storage",
	"empty": "emptiness", "expired": "expiry", "drifted": "drift", "underutilized": "consolidation",
}

// minBeginning is how much of a word has to be there to tell the rest.
const minBeginning = 4

// maxLength bounds the cost of the edit distance; what is longer is no typo.
const maxLength = 128

// Name returns the candidate that was probably meant by an unknown word: one that
// differs in case and separators only (on_demand), that has the word after the slash
// (zone), that the word is a synonym of, or else the nearest by edit distance, or one that the
// word begins (NoExec), or that speaks of the same (memory.free). Among equally
// near candidates the first wins.
func Name(unknown string, candidates []string) (string, bool) {
	if unknown == "" || len(unknown) > maxLength {
		return "", false
	}
	folded := fold(unknown)
	for _, same := range []func(string) bool{
		func(c string) bool { return c == unknown },
		func(c string) bool { return fold(c) == folded },
		func(c string) bool { return c == synonyms[strings.ToLower(unknown)] },
		func(c string) bool { return fold(ShortForm(c)) == fold(ShortForm(unknown)) },
	} {
		if i := slices.IndexFunc(candidates, same); i >= 0 {
			return candidates[i], true
		}
	}
	if near, ok := nearest(unknown, candidates); ok {
		return near, true
	}
	for _, alike := range []func(string) bool{
		func(c string) bool { return len(folded) >= minBeginning && strings.HasPrefix(fold(c), folded) },
		func(c string) bool { return sameSubject(c, unknown) },
	} {
		if i := slices.IndexFunc(candidates, alike); i >= 0 {
			return candidates[i], true
		}
	}
	return "", false
}

// sameSubject reports whether two names without a domain, such as memory.available
// and memory.free, speak of the same before their dot.
func sameSubject(a, b string) bool {
	x, _, dotted := strings.Cut(a, ".")
	y, _, dottedToo := strings.Cut(b, ".")
	return dotted && dottedToo && x == y && !strings.Contains(a+b, "/")
}

// nearest finds the candidate within an edit distance of a third of the word
// (of the part after the slash, since domains are long and common to many). Short
// forms are compared too, so that a typo in "zone" finds the zone's label.
func nearest(unknown string, candidates []string) (string, bool) {
	best, bestDistance := "", 1+max(1, len(ShortForm(unknown))/3)
	folded := fold(unknown)
	for _, candidate := range candidates {
		distance := levenshtein.Distance(folded, fold(candidate), nil)
		if short := ShortForm(candidate); short != candidate && !strings.Contains(unknown, "/") {
			distance = min(distance, levenshtein.Distance(folded, fold(short), nil))
		}
		if distance < bestDistance {
			best, bestDistance = candidate, distance
		}
	}
	return best, best != ""
}

// ShortForm is the part of a qualified name after the slash.
func ShortForm(name string) string {
	return name[strings.LastIndex(name, "/")+1:]
}

// fold removes what people vary when they type a name from memory.
func fold(name string) string { return withoutSeparators.Replace(strings.ToLower(name)) }

var withoutSeparators = strings.NewReplacer("_", "", "-", "", " ", "")

// Same reports whether two names differ in case and separators only.
func Same(a, b string) bool { return fold(a) == fold(b) }

// Certain reports whether a word can mean nothing but the name: it is the same, or a
// synonym.
func Certain(word, name string) bool {
	return Same(word, name) || synonyms[strings.ToLower(word)] == name
}

// Misspelt returns the known name that somebody meant by an unknown one. It is
// stricter than Name, which looks for the nearest name once it is clear that
// the name is wrong: here a name of the user's own must not be taken for a
// misspelling. So the two differ in case and separators, in two letters (one in a
// short name), or are the same name in two domains that hardly differ.
func Misspelt(unknown string, known []string) (string, bool) {
	if len(unknown) > maxLength || slices.Contains(known, unknown) {
		return "", false
	}
	i := slices.IndexFunc(known, func(k string) bool { return slip(unknown, k) })
	if i < 0 {
		return "", false
	}
	return known[i], true
}

func slip(a, b string) bool {
	const short = 6
	slips := 2
	if len(a) < short {
		slips = 1
	}
	const separators = 3 // that one of them may lack
	if length := len(a) - len(b); max(length, -length) <= slips+separators && levenshtein.Distance(fold(a), fold(b), nil) <= slips {
		return true
	}
	domainA, nameA, qualifiedA := strings.Cut(a, "/")
	domainB, nameB, qualifiedB := strings.Cut(b, "/")
	return qualifiedA && qualifiedB && strings.EqualFold(nameA, nameB) && levenshtein.Distance(domainA, domainB, nil) <= len(domainB)/4
}
