package install

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Problem is what is wrong with one of the settings.
type Problem struct {
	// Setting is the name of the resource's attribute, such as tolerations.
	Setting string
	Err     *field.Error
}

// Problems are in the order of the settings.
type Problems []Problem

// Aggregate returns all of them as one error, and nil if there are none. It calls the settings
// as name does.
func (ps Problems) Aggregate(name func(setting string) string) error {
	var errs field.ErrorList
	for _, p := range ps {
		err := *p.Err
		err.Field = name(p.Setting) + strings.TrimPrefix(err.Field, p.Setting)
		errs = append(errs, &err)
	}
	return errs.ToAggregate()
}

func invalid(at *field.Path, value any, detail string) Problem {
	return Problem{at.Root().String(), field.Invalid(at, value, detail)}
}

func unsupported[T ~string](at *field.Path, value T, allowed []T) Problem {
	return Problem{at.Root().String(), field.NotSupported(at, value, allowed)}
}
