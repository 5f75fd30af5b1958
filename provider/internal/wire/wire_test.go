package wire_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"pgregory.net/rapid"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/wire"
)

var (
	itemType = tftypes.Object{AttributeTypes: map[string]tftypes.Type{
		"key_name": tftypes.String, "values": tftypes.List{ElementType: tftypes.String},
	}}
	rootType = tftypes.Object{AttributeTypes: map[string]tftypes.Type{
		"name":     tftypes.String,
		"limits":   tftypes.Map{ElementType: tftypes.String},
		"max_pods": tftypes.Number,
		"enabled":  tftypes.Bool,
		"items":    tftypes.List{ElementType: itemType},
		"inner":    itemType,
	}}
	codec = wire.Codec{Local: []string{"name"}, Fields: map[string]string{"limits": "limits.resources", "key_name": "keyNAME"}}
)

func text(s string) tftypes.Value { return tftypes.NewValue(tftypes.String, s) }

func list(values ...tftypes.Value) tftypes.Value {
	return tftypes.NewValue(tftypes.List{ElementType: tftypes.String}, values)
}

func item(key string, values tftypes.Value) tftypes.Value {
	return tftypes.NewValue(itemType, map[string]tftypes.Value{"key_name": text(key), "values": values})
}

func items(values ...tftypes.Value) tftypes.Value {
	return tftypes.NewValue(tftypes.List{ElementType: itemType}, values)
}

// root is an object of which only the given attributes are not null.
func root(set map[string]tftypes.Value) tftypes.Value {
	all := map[string]tftypes.Value{}
	for name, typ := range rootType.AttributeTypes {
		all[name] = tftypes.NewValue(typ, nil)
	}
	maps.Copy(all, set)
	return tftypes.NewValue(rootType, all)
}

func limits(entries map[string]tftypes.Value) tftypes.Value {
	return tftypes.NewValue(rootType.AttributeTypes["limits"], entries)
}

func encode(t *testing.T, v tftypes.Value) *wire.Document {
	t.Helper()
	doc, err := codec.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestEncode(t *testing.T) {
	tests := map[string]struct {
		set  map[string]tftypes.Value
		want string
	}{
		"nothing":            {nil, `{}`},
		"local attributes":   {map[string]tftypes.Value{"name": text("a")}, `{}`},
		"scalars":            {map[string]tftypes.Value{"max_pods": tftypes.NewValue(tftypes.Number, 3), "enabled": tftypes.NewValue(tftypes.Bool, false)}, `{"maxPods":3,"enabled":false}`},
		"a field in between": {map[string]tftypes.Value{"limits": limits(map[string]tftypes.Value{"cpu": text("1")})}, `{"limits":{"resources":{"cpu":"1"}}}`},
		"empty is absent":    {map[string]tftypes.Value{"limits": limits(map[string]tftypes.Value{}), "items": items()}, `{}`},
		"nested": {
			map[string]tftypes.Value{"items": items(item("a", list(text("x"))), item("b", list()))},
			`{"items":[{"keyNAME":"a","values":["x"]},{"keyNAME":"b"}]}`,
		},
		"an empty string is a value": {map[string]tftypes.Value{"inner": item("", list())}, `{"inner":{"keyNAME":""}}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := json.Marshal(encode(t, root(tt.set)).Fields)
			if err != nil {
				t.Fatal(err)
			}
			if !sameJSON(t, tt.want, string(got)) {
				t.Errorf("JSON = %s, want %s", got, tt.want)
			}
		})
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal([]byte(a), &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(b), &y); err != nil {
		t.Fatal(err)
	}
	return cmp.Equal(x, y)
}

func TestEncodeRefusesFractions(t *testing.T) {
	fraction := tftypes.NewValue(tftypes.Number, big.NewFloat(1.5))
	if _, err := codec.Encode(root(map[string]tftypes.Value{"max_pods": fraction})); err == nil {
		t.Error("1.5 pods were taken")
	}
}

func TestUnknownIsLeftOutAndFindingsKeepTheirPlace(t *testing.T) {
	unknown := tftypes.NewValue(tftypes.String, tftypes.UnknownValue)
	doc := encode(t, root(map[string]tftypes.Value{
		"items":    items(item("a", list(text("x"), unknown)), item("b", list(text("y")))),
		"max_pods": tftypes.NewValue(tftypes.Number, tftypes.UnknownValue),
		"limits":   limits(map[string]tftypes.Value{"cpu": unknown, "memory": text("1")}),
	}))
	want := map[string]any{
		"items":  []any{map[string]any{"keyNAME": "b", "values": []any{"y"}}},
		"limits": map[string]any{"resources": map[string]any{"memory": "1"}},
	}
	if diff := cmp.Diff(want, doc.Fields); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"items[0]", "limits.resources[cpu]", "maxPods"}, doc.Unknown); diff != "" {
		t.Errorf("unknown (-want +got):\n%s", diff)
	}
	if hcl := doc.Attribute(codec, rootType, "items[0].values[0]").Path; hcl != "items[1].values[0]" {
		t.Errorf("the finding is at %s, want items[1].values[0]", hcl)
	}
	for path, undecided := range map[string]bool{
		"maxPods": true, "limits": true, "limits.resources[cpu]": true, "limits.resources[memory]": false, "items[0].keyNAME": false, "inner": false,
	} {
		if got := doc.Undecided(path); got != undecided {
			t.Errorf("Undecided(%s) = %v, want %v", path, got, undecided)
		}
	}
}

func TestAttribute(t *testing.T) {
	doc := encode(t, root(map[string]tftypes.Value{"items": items(item("a", list(text("x"))))}))
	tests := map[string]struct{ root, hcl string }{
		"maxPods":                  {"max_pods", "max_pods"},
		"items[0].keyNAME":         {"items", "items[0].key_name"},
		"items[0].values[0]":       {"items", "items[0].values[0]"},
		"limits":                   {"limits", "limits"},
		"limits.resources[a.b/c]":  {"limits", `limits["a.b/c"]`},
		"inner.unheardOf":          {"inner", "inner"},
		"unheardOf":                {"", ""},
		"name":                     {"", ""},
		"items[0].values[0].extra": {"items", "items[0].values[0]"},
	}
	for path, want := range tests {
		t.Run(path, func(t *testing.T) {
			if got := doc.Attribute(codec, rootType, path); got.Root != want.root || got.Path != want.hcl {
				t.Errorf("attribute = %q, %q, want %q, %q", got.Root, got.Path, want.root, want.hcl)
			}
		})
	}
}

func TestDecodeTakesWhatManifestsHold(t *testing.T) {
	got, err := codec.Decode(map[string]any{
		"limits":  map[string]any{"resources": map[string]any{"cpu": int64(1000), "memory": "1Gi", "gpu": 1.5}},
		"maxPods": int64(3), "items": []any{}, "unheardOf": true,
	}, rootType)
	if err != nil {
		t.Fatal(err)
	}
	want := root(map[string]tftypes.Value{
		"limits":   limits(map[string]tftypes.Value{"cpu": text("1000"), "memory": text("1Gi"), "gpu": text("1.5")}),
		"max_pods": tftypes.NewValue(tftypes.Number, 3),
	})
	if !got.Equal(want) {
		t.Errorf("value = %s, want %s", got, want)
	}
}

func TestDecodeRefusesOtherTypes(t *testing.T) {
	for name, fields := range map[string]map[string]any{
		"a list for an object": {"inner": []any{}},
		"a string for a list":  {"items": "a"},
		"a bool for a number":  {"maxPods": true},
		"a list for a map":     {"limits": map[string]any{"resources": []any{}}},
	} {
		t.Run(name, func(t *testing.T) {
			if v, err := codec.Decode(fields, rootType); err == nil {
				t.Errorf("decoded as %s", v)
			}
		})
	}
}

// drawn is a root of any shape that says something about everything it sets:
// what is empty does not come back.
func drawn(t *rapid.T) tftypes.Value {
	word := rapid.StringMatching(`[a-z./]{0,8}`)
	name := rapid.StringMatching(`[a-z./]{1,8}`)
	words := func(label string) tftypes.Value {
		var out []tftypes.Value
		for _, w := range rapid.SliceOfN(word, 1, 4).Draw(t, label) {
			out = append(out, text(w))
		}
		return list(out...)
	}
	set := map[string]tftypes.Value{}
	if rapid.Bool().Draw(t, "has a number") {
		set["max_pods"] = tftypes.NewValue(tftypes.Number, rapid.Int64().Draw(t, "number"))
	}
	if rapid.Bool().Draw(t, "has a bool") {
		set["enabled"] = tftypes.NewValue(tftypes.Bool, rapid.Bool().Draw(t, "bool"))
	}
	if rapid.Bool().Draw(t, "has an object") {
		set["inner"] = item(name.Draw(t, "key"), words("values"))
	}
	entries := map[string]tftypes.Value{}
	for key, value := range rapid.MapOfN(word, word, 0, 3).Draw(t, "entries") {
		entries[key] = text(value)
	}
	if len(entries) > 0 {
		set["limits"] = limits(entries)
	}
	var all []tftypes.Value
	for i := range rapid.IntRange(0, 3).Draw(t, "items") {
		all = append(all, item(name.Draw(t, fmt.Sprint("key ", i)), words(fmt.Sprint("values ", i))))
	}
	if len(all) > 0 {
		set["items"] = items(all...)
	}
	return root(set)
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := drawn(t)
		doc, err := codec.Encode(value)
		if err != nil {
			t.Fatal(err)
		}
		back, err := codec.Decode(doc.Fields, rootType)
		if err != nil {
			t.Fatal(err)
		}
		if !back.Equal(value) {
			t.Fatalf("came back as %s, was %s", back, value)
		}
		if merged := wire.Merge(value, back); !merged.Equal(value) {
			t.Fatalf("a refresh without a change gave %s, was %s", merged, value)
		}
	})
}

func TestMerge(t *testing.T) {
	number := func(n int) tftypes.Value { return tftypes.NewValue(tftypes.Number, n) }
	cpu := func(v string) tftypes.Value { return limits(map[string]tftypes.Value{"cpu": text(v)}) }
	both := limits(map[string]tftypes.Value{"cpu": text("1"), "theirs": text("2")})
	none := tftypes.NewValue(tftypes.String, nil)
	null := tftypes.NewValue(tftypes.List{ElementType: tftypes.String}, nil)
	nothing := tftypes.NewValue(itemType, nil)
	tests := map[string]struct{ prior, live, want map[string]tftypes.Value }{
		"a change":                        {set("max_pods", number(1)), set("max_pods", number(2)), set("max_pods", number(2))},
		"a removal":                       {set("max_pods", number(1)), nil, nil},
		"what others set":                 {nil, set("max_pods", number(2)), nil},
		"an entry that others set":        {set("limits", cpu("1")), set("limits", both), set("limits", cpu("1"))},
		"an entry that others removed":    {set("limits", both), set("limits", cpu("1")), set("limits", cpu("1"))},
		"an entry that is null, alone":    {set("limits", limits(map[string]tftypes.Value{"cpu": none})), nil, set("limits", limits(map[string]tftypes.Value{"cpu": none}))},
		"a null beside an entry":          {set("limits", limits(map[string]tftypes.Value{"cpu": text("1"), "memory": none})), set("limits", cpu("2")), set("limits", limits(map[string]tftypes.Value{"cpu": text("2"), "memory": none}))},
		"an empty text":                   {set("name", text("")), nil, set("name", text(""))},
		"an empty list":                   {set("items", items()), nil, set("items", items())},
		"an empty list inside of a list":  {set("items", items(item("a", list()))), set("items", items(item("a", null))), set("items", items(item("a", list())))},
		"a value inside of a list":        {set("items", items(item("a", null))), set("items", items(item("a", list(text("x"))))), set("items", items(item("a", list(text("x")))))},
		"an element more":                 {set("items", items(item("a", null))), set("items", items(item("a", null), item("b", null))), set("items", items(item("a", null), item("b", null)))},
		"a list of nulls":                 {set("items", items(nothing)), nil, set("items", items(nothing))},
		"a null beside an element":        {set("items", items(nothing, item("a", list(text("x"), none)))), set("items", items(item("b", list(text("y"))))), set("items", items(nothing, item("b", list(text("y"), none))))},
		"a null that others replaced":     {set("items", items(item("a", null), nothing)), set("items", items(item("a", null), item("b", null))), set("items", items(item("a", null), item("b", null)))},
		"an attribute of an object":       {set("inner", item("a", null)), set("inner", item("b", list(text("theirs")))), set("inner", item("b", null))},
		"an object that somebody removed": {set("inner", item("a", null)), nil, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got, want := wire.Merge(root(tt.prior), root(tt.live)), root(tt.want); !got.Equal(want) {
				t.Errorf("merged = %s, want %s", got, want)
			}
		})
	}
}

// Terraform converts arguments with a declared type in the same way.
func TestConform(t *testing.T) {
	number, yes := tftypes.NewValue(tftypes.Number, big.NewFloat(1.5)), tftypes.NewValue(tftypes.Bool, true)
	for name, tt := range map[string]struct {
		given tftypes.Value
		typ   tftypes.Type
		want  any // nil if it is refused
	}{
		"a number as text":      {number, tftypes.String, "1.5"},
		"text as a number":      {text("1.5"), tftypes.Number, 1.5},
		"a bool as text":        {yes, tftypes.String, "true"},
		"text as a bool":        {text("false"), tftypes.Bool, false},
		"a digit as a bool":     {text("1"), tftypes.Bool, true},
		"other text as a bool":  {text("True"), tftypes.Bool, nil},
		"other text, no number": {text("few"), tftypes.Number, nil},
		"a number as a bool":    {number, tftypes.Bool, nil},
		"a bool as a number":    {yes, tftypes.Number, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := wire.Conform(tt.given, tt.typ)
			if (err != nil) != (tt.want == nil) || err == nil && !got.Equal(tftypes.NewValue(tt.typ, tt.want)) {
				t.Errorf("%s as %s = %s, %v, want %v", tt.given, tt.typ, got, err, tt.want)
			}
		})
	}
}

func set(name string, value tftypes.Value) map[string]tftypes.Value {
	return map[string]tftypes.Value{name: value}
}
