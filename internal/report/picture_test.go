package report

import (
	"encoding/xml"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// element is any XML element.
type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Text     string     `xml:",chardata"`
	Children []element  `xml:",any"`
}

func parse(t *testing.T, text string) element {
	t.Helper()
	var root element
	if err := xml.Unmarshal([]byte(text), &root); err != nil {
		t.Fatalf("not XML: %v\n%s", err, text)
	}
	return root
}

func (e *element) attr(name string) string {
	for _, a := range e.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func (e *element) number(t *testing.T, name string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(e.attr(name), 64)
	if err != nil {
		t.Fatalf("<%s %s=%q>: %v", e.XMLName.Local, name, e.attr(name), err)
	}
	return v
}

func (e *element) is(name string, class string) bool {
	return e.XMLName.Local == name && slices.Contains(strings.Fields(e.attr("class")), class)
}

// all returns the elements within e that are of a name and class.
func (e *element) all(name, class string) []element {
	var out []element
	for i := range e.Children {
		c := &e.Children[i]
		if c.is(name, class) {
			out = append(out, *c)
		}
		out = append(out, c.all(name, class)...)
	}
	return out
}

// golden compares with a file; GOLDEN=write writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := "testdata/" + name
	if os.Getenv("GOLDEN") == "write" {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("-want +got (GOLDEN=write go test writes the file)\n%s", diff)
	}
}

// shape is a class of pods in a fleet made for a test.
type shape struct {
	name        string
	cpu, memory int64
	gpu         int64
}

// made builds a report of machines that hold the given numbers of pods of shapes.
func made(shapes []shape, machines [][]int, size func(i int) amount.List) explain.Report {
	p, s := decide.Plan{LowerBound: 1}, &cluster.Snapshot{}
	templates := make([]*cluster.Template, len(shapes))
	for i, sh := range shapes {
		templates[i] = &cluster.Template{Requests: amount.List{amount.CPU: sh.cpu, amount.Memory: sh.memory, "nvidia.com/gpu": sh.gpu, amount.Pods: 1}}
	}
	for i, counts := range machines {
		m := decide.Machine{Provisioner: "default", Allocatable: size(i), Used: amount.List{}}
		m.Candidates = []offer.Candidate{{InstanceType: fmt.Sprintf("m%d.large", m.Allocatable[amount.CPU]/1000), Zone: "a", CapacityType: "spot", Price: 10}}
		for which, n := range counts {
			for range n {
				key := cluster.PodKey{Namespace: "default", Name: fmt.Sprintf("pod-%06d", len(s.Pods))}
				s.Pods = append(s.Pods, cluster.Pod{PodKey: key, Template: templates[which], Owner: cluster.Owner{Kind: "StatefulSet", Name: shapes[which].name}})
				m.Pods = append(m.Pods, key)
				m.Used = m.Used.Plus(templates[which].Requests)
			}
		}
		p.HourlyPrice += 10
		p.Machines = append(p.Machines, m)
	}
	return explain.Of(p, s, 0)
}

func sized(cpu, gib, gpus int64) amount.List {
	return amount.List{amount.CPU: 1000 * cpu, amount.Memory: gib << 30, amount.Pods: 110, "nvidia.com/gpu": gpus}
}

// Areas are proportional to amounts, over machines of different types: pixels per
// core and per byte are the same for all, and so is the sum for the boxes.
func TestAreasAreToScale(t *testing.T) {
	shapes := []shape{{"web", 500, 1 << 30, 0}, {"cache", 250, 6 << 30, 0}, {"train", 3000, 12 << 30, 1}}
	machines := [][]int{{3, 0, 0}, {2, 1, 0}, {30, 3, 0}, {1, 2, 1}}
	sizes := []amount.List{sized(2, 8, 0), sized(2, 16, 0), sized(32, 64, 0), sized(4, 48, 1)}
	r := made(shapes, machines, func(i int) amount.List { return sizes[i] })
	root := parse(t, HTML(&r))

	classes, perUnit := map[string]shape{}, map[string][]float64{}
	for i, e := range pictureOf(&r).legend[:len(shapes)] {
		for _, s := range shapes {
			if e.Text == "default/"+s.name {
				classes[fmt.Sprintf("w%d", i)] = s
			}
		}
	}
	pods := 0.0
	for class, s := range classes {
		for _, g := range root.all("g", class) {
			titles := g.named("title")
			if len(titles) == 0 {
				continue // a label
			}
			var n float64
			if _, err := fmt.Sscanf(titles[0].Text, "default/"+s.name+": %g of", &n); err != nil {
				t.Fatalf("%q: %v", titles[0].Text, err)
			}
			pods += n
			byColumn := map[string]float64{}
			for _, rect := range g.named("rect") {
				byColumn[rect.attr("x")] += rect.number(t, "width") * rect.number(t, "height") / n
			}
			for x, area := range byColumn {
				v, name := s.memory, amount.Memory
				switch {
				case x == "0":
					v, name = s.cpu, amount.CPU
				case s.gpu > 0 && x == lastColumn(byColumn):
					v, name = s.gpu, "gpu"
				}
				perUnit[name] = append(perUnit[name], area/float64(v))
			}
		}
	}
	if pods != 36+6+1 || len(perUnit["gpu"]) != 1 {
		t.Errorf("%v pods and %d GPU columns are drawn, want 43 and 1", pods, len(perUnit["gpu"]))
	}
	for name, list := range perUnit {
		if low, high := slices.Min(list), slices.Max(list); high > 1.02*low {
			t.Errorf("%s: %g to %g square pixels per unit", name, low, high)
		}
	}
}

func lastColumn(columns map[string]float64) string {
	last, most := "", -1.0
	for x := range columns {
		if v, err := strconv.ParseFloat(x, 64); err == nil && v > most {
			last, most = x, v
		}
	}
	return last
}

// named returns the elements within e of a name, whatever their class.
func (e *element) named(name string) []element {
	var out []element
	for i := range e.Children {
		if e.Children[i].XMLName.Local == name {
			out = append(out, e.Children[i])
		}
		out = append(out, e.Children[i].named(name)...)
	}
	return out
}

// However large a fleet is, its picture is one that fits a screen or two.
func TestLargeFleets(t *testing.T) {
	for name, c := range map[string]struct {
		machines int
		kinds    int64
	}{
		"a hundred":                        {100, 1},
		"a thousand, all different":        {1000, 5},
		"a thousand, each of its own kind": {1000, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			var machines [][]int
			for i := range c.machines {
				machines = append(machines, []int{i % 40, i % 23, 1})
			}
			shapes := []shape{{"web", 500, 1 << 30, 0}, {"cache", 250, 6 << 30, 0}, {"batch", 1000, 1 << 20, 0}}
			r := made(shapes, machines, func(i int) amount.List { return sized(40+int64(i)%c.kinds, 200, 0) })
			text := HTML(&r)
			root := parse(t, text)
			boxes := root.all("rect", "room")
			if len(boxes) > maxBoxes || len(boxes) < min(c.machines, maxKinds) || len(text) > 1<<20 {
				t.Errorf("%d boxes, %d bytes", len(boxes), len(text))
			}
			area := 0.0
			for _, b := range boxes {
				side := b.number(t, "width")
				area += side * side
				if side < 15 {
					t.Errorf("a box of %v pixels", side)
				}
			}
			if most := inner * goodHeight; area > most {
				t.Errorf("the boxes take %v square pixels, want %v at the most", area, most)
			}
			if stood := standsFor(pictureOf(&r)); stood != c.machines {
				t.Errorf("the picture accounts for %d machines of %d", stood, c.machines)
			}
		})
	}
}

func pictureOf(r *explain.Report) *picture { return newPicture(boxes(r.Fleet)) }

// standsFor counts the machines that boxes and notes stand for.
func standsFor(p *picture) int {
	sum := 0
	for _, s := range p.sections {
		for _, k := range s.kinds {
			for _, b := range k.boxes {
				sum += b.count
			}
		}
		n := 0
		_, _ = fmt.Sscanf(s.rest, "and %d", &n)
		sum += n
	}
	return sum
}

// Nothing leaves the picture or its column: neither rectangles nor labels.
func TestNothingOverflows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var shapes []shape
		for i := range rapid.IntRange(1, 12).Draw(rt, "shapes") {
			name := rapid.StringMatching(`[a-zW]{1,40}`).Draw(rt, "name")
			shapes = append(shapes, shape{name + strconv.Itoa(i), rapid.Int64Range(1, 900).Draw(rt, "cpu"), rapid.Int64Range(0, 2<<30).Draw(rt, "memory"), 0})
		}
		var machines [][]int
		for range rapid.IntRange(1, 30).Draw(rt, "machines") {
			machines = append(machines, rapid.SliceOfN(rapid.IntRange(0, 3), len(shapes), len(shapes)).Draw(rt, "pods"))
		}
		r := made(shapes, machines, func(i int) amount.List { return sized(40<<(i%3), 80, 0) })
		root := parse(t, HTML(&r))
		for _, svg := range root.named("svg") {
			boxes := svg.all("rect", "room")
			if len(boxes) != 1 {
				continue
			}
			side := boxes[0].number(t, "width")
			for _, text := range svg.named("text") {
				if end := text.number(t, "x") + textWidth(text.Text, tiny); end > side {
					rt.Errorf("%q ends at %v in a box of %v", text.Text, end, side)
				}
			}
			for _, load := range svg.all("g", "load") {
				for _, rect := range load.named("rect") {
					if rect.number(t, "x")+rect.number(t, "width") > side+0.05 || rect.number(t, "y") < -0.05 || rect.number(t, "y")+rect.number(t, "height") > side+0.05 {
						rt.Errorf("%v is outside of a box of %v", rect.Attrs, side)
					}
				}
			}
		}
	})
}

func TestOddNamesAreEscaped(t *testing.T) {
	odd := "<script>&\"'\x00]]>\u202e"
	r := made([]shape{{odd, 1900, 7 << 30, 0}}, [][]int{{1}}, func(int) amount.List { return sized(2, 8, 0) })
	r.Unplaced = []explain.Unplaced{{Pod: odd, Reason: odd}}
	r.Warnings = []string{odd}
	r.Machines[0].InstanceType = odd
	text := HTML(&r)
	parse(t, text)
	if strings.Contains(text, "<script") || !strings.Contains(text, "&lt;script&gt;&amp;") {
		t.Error("the page holds the name as it is")
	}
}

func TestColumns(t *testing.T) {
	one := func(int) amount.List { return sized(40, 200, 2) }
	for name, c := range map[string]struct {
		shape shape
		pods  int
		want  []string
	}{
		"plain":     {shape{"a", 1000, 1 << 30, 0}, 10, []string{amount.CPU, amount.Memory}},
		"gpu":       {shape{"a", 1000, 1 << 30, 1}, 1, []string{amount.CPU, amount.Memory, "nvidia.com/gpu"}},
		"many tiny": {shape{"a", 1, 1, 0}, 100, []string{amount.CPU, amount.Memory, amount.Pods}},
	} {
		t.Run(name, func(t *testing.T) {
			r := made([]shape{c.shape}, [][]int{{c.pods}}, one)
			if diff := cmp.Diff(c.want, pictureOf(&r).columns); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// Few workloads have colours of their own; where there are very many alike, the
// colour says what they need.
func TestColours(t *testing.T) {
	size := func(int) amount.List { return sized(400, 2000, 0) }
	few, many := []shape{}, []shape{}
	counts := []int{}
	for i := range 40 {
		few = append(few, shape{fmt.Sprint("w", i), 100 + int64(max(0, 9-i))*2000, int64(1+max(0, 9-i)) << 30, 0})
		many = append(many, shape{fmt.Sprint("w", i), 1000, int64(i) << 29, 0})
		counts = append(counts, 1)
	}
	texts := func(shapes []shape) (out []string) {
		r := made(shapes, [][]int{counts}, size)
		for _, e := range pictureOf(&r).legend {
			out = append(out, e.Text)
		}
		return out
	}
	if got := texts(few); len(got) != maxColours+2 || got[0] != "default/w0" || got[maxColours] != "32 other workloads" {
		t.Errorf("got %q", got)
	}
	if got := texts(many); len(got) != len(shapes)+1 || got[1] != "1.5 to 3" {
		t.Errorf("got %q", got)
	}
}

func TestAverage(t *testing.T) {
	r := made([]shape{{"a", 1000, 1 << 30, 0}, {"b", 2000, 1 << 30, 0}}, [][]int{{1, 0}, {2, 3}, {0, 0}}, func(int) amount.List { return sized(16, 32, 0) })
	got := average(boxes(r.Fleet))
	if got.count != 3 || !got.average || len(got.Loads) != 2 || got.Loads[0].Pods != 1 || math.Abs(got.Used(amount.CPU)-3000) > 1e-6 {
		t.Errorf("got %+v", got)
	}
}
