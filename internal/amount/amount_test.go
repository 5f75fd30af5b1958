package amount

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestFromResourceList(t *testing.T) {
	got := FromResourceList(corev1.ResourceList{
		"cpu":            resource.MustParse("1500m"),
		"memory":         resource.MustParse("1.5Gi"),
		"nvidia.com/gpu": resource.MustParse("2"),
	})
	want := List{CPU: 1500, Memory: 3 << 29, "nvidia.com/gpu": 2}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	back := got.ResourceList()
	for name, text := range map[corev1.ResourceName]string{"cpu": "1500m", "memory": "1536Mi", "nvidia.com/gpu": "2"} {
		q := back[name]
		if q.String() != text {
			t.Errorf("%s: got %s, want %s", name, q.String(), text)
		}
	}
}

func TestArithmetic(t *testing.T) {
	a, b := List{CPU: 100, Pods: 1}, List{CPU: 50, Memory: 7}
	for name, c := range map[string]struct{ got, want List }{
		"plus":         {a.Plus(b), List{CPU: 150, Pods: 1, Memory: 7}},
		"minus":        {a.Minus(b), List{CPU: 50, Pods: 1, Memory: -7}},
		"max":          {a.Max(b), List{CPU: 100, Pods: 1, Memory: 7}},
		"plus of none": {List(nil).Plus(b), b},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
	if diff := cmp.Diff(List{CPU: 100, Pods: 1}, a); diff != "" {
		t.Errorf("an operand changed: -want +got\n%s", diff)
	}
}

// TestSumsStay: any number of the largest amounts is more than any room has.
func TestSumsStay(t *testing.T) {
	sum, left, most := List{}, List{CPU: 4000}, List{CPU: Most}
	for range 3000 { // 1,024 would do
		sum, left = sum.Plus(most), left.Minus(most)
		if sum.Fits(List{CPU: 4000}) || (List{CPU: 1}).Fits(left) {
			t.Fatalf("the sum is %d, and %d are left", sum[CPU], left[CPU])
		}
	}
	for _, n := range []int64{1, 255, 256, 1024, 2048, 1 << 40} {
		if got := Product(n, Most); got < Most || Product(-n, Most) != -got || most.Times(float64(n))[CPU] != got {
			t.Errorf("%d times the most is %d, and less than nothing %d", n, got, Product(-n, Most))
		}
	}
	if got := Product(-3, 5); got != -15 {
		t.Errorf("-3 times 5 is %d", got)
	}
}

func TestFits(t *testing.T) {
	room := List{CPU: 1000, Memory: 1 << 30}
	for name, c := range map[string]struct {
		need List
		want bool
	}{
		"exactly":                       {List{CPU: 1000, Memory: 1 << 30}, true},
		"too much":                      {List{CPU: 1001}, false},
		"a resource that is not there":  {List{"nvidia.com/gpu": 1}, false},
		"none of one that is not there": {List{"nvidia.com/gpu": 0}, true},
	} {
		if got := c.need.Fits(room); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

func TestShare(t *testing.T) {
	room := List{CPU: 1000, Memory: 1 << 30, Pods: 0}
	for name, c := range map[string]struct {
		need List
		want float64
	}{
		"of what it takes most":          {List{CPU: 250, Memory: 1 << 29}, 0.5},
		"not of a resource without room": {List{CPU: 250, Pods: 1, "nvidia.com/gpu": 1}, 0.25},
		"nothing":                        {nil, 0},
	} {
		if got := c.need.Share(room); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

// People read amounts in JSON, and programs read them back.
func TestJSON(t *testing.T) {
	in := List{CPU: 3920, Memory: 3446249881, Pods: 29, EphemeralStorage: 20 << 30, "hugepages-2Mi": 512}
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"cpu":"3920m","ephemeral-storage":"20Gi","hugepages-2Mi":"512","memory":"3286Mi","pods":"29"}`; string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	var out List
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	in[Memory] = 3286 << 20
	if diff := cmp.Diff(in, out); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
