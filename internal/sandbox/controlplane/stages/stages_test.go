package stages

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestConfiguration(t *testing.T) {
	var names []string
	documents := strings.Split(Configuration(), "\n---\n")
	for _, document := range documents {
		var object struct {
			Kind     string
			Metadata struct{ Name string }
			Spec     struct {
				Delay struct {
					DurationFrom struct{ ExpressionFrom string }
				}
				Next struct{ Delete bool }
			}
		}
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatalf("parse %q: %v", document, err)
		}
		names = append(names, object.Kind+"/"+object.Metadata.Name)
		if object.Metadata.Name != "pod-delete" {
			continue
		}
		if got := object.Spec.Delay.DurationFrom.ExpressionFrom; got != ".metadata.deletionTimestamp" || !object.Spec.Next.Delete {
			t.Errorf("pod-delete waits for %q and deletes: %v, want the deletion timestamp and true", got, object.Spec.Next.Delete)
		}
	}
	want := "KwokConfiguration/ Stage/node-initialize Stage/node-heartbeat-with-lease Stage/pod-ready Stage/pod-complete Stage/pod-delete"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("documents = %s, want %s", got, want)
	}
}
