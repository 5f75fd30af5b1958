package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// decodeTree fills into from a tree of JSON values that stands at path. Nulls and
// unknown fields are left out; unknown fields are returned as warnings, values of
// the wrong type as errors.
func decodeTree(tree any, into any, path *field.Path) (finding.List, finding.List) {
	return decodeRelated(tree, into, path, ourKinds)
}

func decodeRelated(tree any, into any, path *field.Path, related []RelatedKind) (finding.List, finding.List) {
	d := treeDecoder{root: reflect.TypeOf(into).Elem(), related: related}
	clean := d.clean(tree, d.root, path)
	if len(d.errs) > 0 {
		return d.warnings, d.errs
	}
	asJSON, err := json.Marshal(clean)
	if err == nil {
		err = json.Unmarshal(asJSON, into)
	}
	if err != nil {
		d.reject(path, tree, finding.Plain(err.Error()), finding.None)
	}
	return d.warnings, d.errs
}

// treeDecoder walks a tree along a Go type and collects what does not belong.
type treeDecoder struct {
	root     reflect.Type
	related  []RelatedKind // where a field that root does not have may belong
	warnings finding.List
	errs     finding.List
}

func (d *treeDecoder) reject(path *field.Path, value any, text, advice finding.Message) {
	d.errs = append(d.errs, finding.Mistyped(path, value, text, advice))
}

func (d *treeDecoder) clean(value any, t reflect.Type, path *field.Path) any {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.PkgPath() != "" && reflect.PointerTo(t).Implements(unmarshaler) { // others have no methods
		if t == reflect.TypeFor[Budget]() && !d.checkBudget(value, path) {
			return value
		}
		d.check(value, t, path)
		return value
	}
	switch t.Kind() {
	case reflect.Struct:
		return d.cleanStruct(value, t, path)
	case reflect.Map:
		return d.cleanMap(value, t, path)
	case reflect.Slice:
		return d.cleanSlice(value, t, path)
	default:
		if _, text := value.(string); !text || t.Kind() != reflect.String { // most are, and checking takes microseconds
			d.check(value, t, path)
		}
		return value
	}
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

func (d *treeDecoder) cleanStruct(value any, t reflect.Type, path *field.Path) any {
	object, ok := value.(map[string]any)
	if !ok {
		d.mismatch(value, "an object", path)
		return nil
	}
	fields := jsonFields(t)
	out := make(map[string]any, len(object))
	for _, name := range sortedKeys(object) {
		ft, known := fields[name]
		switch {
		case !known:
			d.warnings = append(d.warnings, finding.Finding{
				Path: path.Child(name).String(), Value: object[name],
				Text: finding.Say("unknown field, ignored"), Advice: d.adviseField(name, t, path),
			})
		case object[name] != nil:
			out[name] = d.clean(object[name], ft, path.Child(name))
		}
	}
	if len(object) == 0 {
		d.warnEmpty(t, path)
	}
	return out
}

// spoken are types of objects about which more is said where they are empty.
var spoken = []reflect.Type{reflect.TypeFor[Limits](), reflect.TypeFor[ProviderRef](), reflect.TypeFor[inlineProvider](), reflect.TypeFor[BlockDevice]()}

// warnEmpty tells of an object below the spec without any field, which often is what
// remains of a misspelt one.
func (d *treeDecoder) warnEmpty(t reflect.Type, path *field.Path) {
	at := path.String()
	if !strings.HasPrefix(at, "spec.") || strings.HasSuffix(at, "]") || slices.Contains(spoken, t) {
		return
	}
	d.warnings = append(d.warnings, finding.Doubtful(path, finding.Say("is empty, which has no effect"), finding.Say("set %s, or remove it", oneOf(path, sortedKeys(jsonFields(t))))))
}

// oneOf names the only field, or says that there are several.
func oneOf(path *field.Path, fields []string) finding.Message {
	if len(fields) == 1 {
		return finding.Say("%s", finding.In(path, fields[0]))
	}
	return finding.Say("one of its fields, such as %s", finding.In(path, fields[0]))
}

func (d *treeDecoder) cleanMap(value any, t reflect.Type, path *field.Path) any {
	object, ok := value.(map[string]any)
	if !ok {
		d.mismatch(value, "an object", path)
		return nil
	}
	out := make(map[string]any, len(object))
	for _, key := range sortedKeys(object) {
		if object[key] != nil {
			out[key] = d.clean(object[key], t.Elem(), path.Key(key))
		}
	}
	return out
}

func (d *treeDecoder) cleanSlice(value any, t reflect.Type, path *field.Path) any {
	list, ok := value.([]any)
	if !ok {
		d.mismatch(value, "a list", path)
		return nil
	}
	out := make([]any, 0, len(list))
	for i, item := range list {
		if item != nil {
			out = append(out, d.clean(item, t.Elem(), path.Index(i)))
		}
	}
	return out
}

// check tries to decode a leaf into its type.
func (d *treeDecoder) check(value any, t reflect.Type, path *field.Path) {
	if t == reflect.TypeFor[resource.Quantity]() && amount.Long(fmt.Sprint(value)) {
		d.reject(path, value, finding.Say("%s: %s", show(value), amount.ErrLong), finding.None)
		return
	}
	asJSON, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(asJSON, reflect.New(t).Interface())
	}
	if err == nil {
		if takesIntOrString(t) && isFraction(value) {
			d.reject(path, value, finding.Say("%s is a fraction, and the API server takes whole numbers and strings", show(value)), finding.Say("quote it"))
		}
		return
	}
	var mistyped *json.UnmarshalTypeError
	if errors.As(err, &mistyped) || t.Kind() == reflect.String {
		d.mismatch(value, wanted(t), path)
		return
	}
	text, advice := finding.Plain(err.Error()), finding.None
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		text, advice = finding.Say("must be a quantity such as 500m or 2Gi"), adviseQuantity(fmt.Sprint(value))
	case reflect.TypeFor[metav1.Duration]():
		text, advice = finding.Say("must be a duration such as 30s or 1h30m"), adviseDuration(fmt.Sprint(value))
	}
	d.reject(path, value, finding.Say("%s: %s", show(value), text), advice)
}

// takesIntOrString tells whether the CRDs hold values of the type as
// x-kubernetes-int-or-string.
func takesIntOrString(t reflect.Type) bool {
	return t == reflect.TypeFor[resource.Quantity]() || t == reflect.TypeFor[NumberOrNever]()
}

func isFraction(value any) bool {
	switch value.(type) {
	case json.Number, float64:
		number, err := strconv.ParseFloat(fmt.Sprint(value), 64)
		return err == nil && number != math.Trunc(number)
	}
	return false
}

// checkBudget finds the field of a budget that cannot be read, which the budget's
// own way of reading would not name.
func (d *treeDecoder) checkBudget(value any, path *field.Path) (ok bool) {
	budget, isObject := value.(map[string]any)
	if !isObject || budget["duration"] == nil {
		return true
	}
	before := len(d.errs)
	d.check(budget["duration"], reflect.TypeFor[metav1.Duration](), path.Child("duration"))
	return len(d.errs) == before
}

// mismatch reports a value of the wrong type. The usual causes are missing
// quotes around what YAML reads as a boolean or number, and quotes too many.
func (d *treeDecoder) mismatch(value any, want string, path *field.Path) {
	advice := finding.None
	switch value := value.(type) {
	case bool, json.Number, float64, int64:
		if want == "a string" {
			advice = finding.Say("quote it")
		}
	case string:
		advice = adviseText(value, want, path)
	}
	d.reject(path, value, finding.Say("%s, and must be %s", describe(value), want), advice)
}

// adviseText says how to write a text where a number or a boolean belongs.
func adviseText(value, want string, path *field.Path) finding.Message {
	var number json.Number
	var boolean bool
	switch {
	case want == "a whole number" && json.Unmarshal([]byte(value), &number) == nil, want == "a boolean" && json.Unmarshal([]byte(value), &boolean) == nil:
		return finding.Say("remove the quotes")
	case want != "a whole number" || !strings.Contains(path.String(), ".ttlSeconds"):
		return finding.None
	}
	if length, ok := parseDuration(value); ok {
		return finding.Say("write it in seconds without a unit: %d", int64(length.Seconds()))
	}
	return finding.Say("write it in seconds without a unit, such as 2592000 for 30 days")
}

func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "a boolean"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "a whole number"
	default:
		return "a string"
	}
}

// describe shows a value with its type: `true is a boolean`.
func describe(value any) string {
	switch value.(type) {
	case bool:
		return show(value) + " is a boolean"
	case json.Number, float64, int64:
		return show(value) + " is a number"
	case string:
		return show(value) + " is a string"
	case []any:
		return show(value) + " is a list"
	default:
		return show(value) + " is an object"
	}
}

// show abbreviates a value for a message.
func show(value any) string {
	const longest = 60
	asJSON, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	if len(asJSON) > longest {
		return string(asJSON[:longest]) + "…"
	}
	return string(asJSON)
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}

// knownFields is what jsonFields has found, by the type of the struct.
var knownFields sync.Map

// jsonFields maps the JSON names of a struct's fields, embedded ones included,
// to their types. It is not to be changed.
func jsonFields(t reflect.Type) map[string]reflect.Type {
	if known, ok := knownFields.Load(t); ok {
		return known.(map[string]reflect.Type)
	}
	out := map[string]reflect.Type{}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case f.Anonymous && name == "":
			maps.Copy(out, jsonFields(f.Type))
		default:
			out[name] = f.Type
		}
	}
	knownFields.Store(t, out)
	return out
}
