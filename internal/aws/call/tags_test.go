package call

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestThereAndBack(t *testing.T) {
	want := map[string]string{"b": "2", "a": "1", "empty": ""}
	list := TagList(want)
	if diff := cmp.Diff(want, TagMap(list)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(list) != 3 || *list[0].Key != "a" || *list[2].Key != "empty" {
		t.Errorf("not in the order of the keys: %v", list)
	}
}

func TestRetagRemovesWhatIsGone(t *testing.T) {
	var got []string
	change := Tagging{"it", map[string]string{"c": "1", "a": "1", "b": "1"}, map[string]string{"b": "2", "d": "1"}}
	err := Retag(change, func() error { return nil }, func(keys []string) error { got = keys; return nil })
	if diff := cmp.Diff([]string{"a", "c"}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
