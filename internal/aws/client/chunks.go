package client

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/call"
)

// EachChunk makes one request for many instances, at most size. If EC2 refuses a chunk, perhaps because of one of them, it
// asks for each alone. It returns the ids for which a request succeeded, sorted, and the first error of each code.
func EachChunk(ids []string, size int, request func(chunk []string) error) ([]string, error) {
	var done []string
	var errs errorsByCode
	for chunk := range slices.Chunk(sets.List(sets.New(ids...)), size) {
		err := request(chunk)
		switch {
		case err == nil:
			done = append(done, chunk...)
		case len(chunk) == 1 || call.Code(err) == "" || Passes(err):
			errs.add(err)
		default:
			done = append(done, eachAlone(chunk, &errs, request)...)
		}
	}
	slices.Sort(done)
	return done, errors.Join(errs.list...)
}

// maxRefused is after how many refusals with one code, and no success, no further instance is asked for.
const maxRefused = 3

// eachAlone makes a request for each instance, in any order. It stops where EC2 seems to refuse all of them, as without a
// permission. If it stops too early, the next try begins with others.
func eachAlone(ids []string, errs *errorsByCode, request func(chunk []string) error) []string {
	rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	var done []string
	refused := map[string]int{}
	for _, id := range ids {
		err := request([]string{id})
		if err == nil {
			done = append(done, id)
			continue
		}
		errs.add(err)
		code := call.Code(err)
		refused[code]++
		if len(done) == 0 && refused[code] >= maxRefused && !aboutOne(code) {
			break
		}
	}
	return done
}

// aboutOne reports whether a code is about an instance itself, so that it says nothing about others: it is gone, has no
// room for another tag, or is protected from termination.
func aboutOne(code string) bool {
	return strings.HasPrefix(code, "InvalidInstanceID") || code == "TagLimitExceeded" || code == "OperationNotPermitted"
}

// errorsByCode keeps the first error of each code.
type errorsByCode struct{ list []error }

func (e *errorsByCode) add(err error) {
	if !slices.ContainsFunc(e.list, func(known error) bool { return call.Code(known) == call.Code(err) }) {
		e.list = append(e.list, err)
	}
}
