package stages

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"
)

// Prepare makes it safe for kwok to see its first node and its first pod at the same
// time. It compiles the stages of each kind when it meets the first object of the kind,
// each kind on a goroutine of its own, and the expression library caches the types that
// it meets in global maps without a lock (easycel 0.6.0). The Go runtime ends a process
// that writes to a map from two goroutines: on a busy machine one kwok of 200 died so.
//
// Prepare compiles a stage of each kind in turn. After that the maps are only read.
func Prepare(ctx context.Context) error {
	for _, object := range []any{&corev1.Node{}, &corev1.Pod{}} {
		if err := compile(ctx, object); err != nil {
			return fmt.Errorf("compile a stage for %T: %w", object, err)
		}
	}
	return nil
}

// compile compiles a stage that selects all objects, as kwok does when it asks whether
// an object matches.
func compile(ctx context.Context, object any) error {
	all := &internalversion.Stage{Spec: internalversion.StageSpec{Selector: &internalversion.StageSelector{}}}
	stages, err := lifecycle.NewLifecycle([]*internalversion.Stage{all})
	if err != nil {
		return err
	}
	_, err = stages.Match(ctx, &lifecycle.Event{Data: object})
	return err
}
