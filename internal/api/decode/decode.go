// Package decode reads custom resources as people write them, and says of what it cannot
// read, or leaves out, what was probably meant. It also reads the MIME archives that user data may be.
package decode

import (
	"bytes"
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
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/suggest"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// Tree reads a JSON value, in which numbers stay as they are written.
func Tree(asJSON []byte) (tree any, err error) {
	d := json.NewDecoder(bytes.NewReader(asJSON))
	d.UseNumber()
	err = d.Decode(&tree)
	return tree, err
}

// Decoder reads objects of JSON values leniently: fields that are null or unknown are left out.
type Decoder struct {
	// Related are kinds that may have the fields that an object does not have.
	Related []Kind
	// Quiet lists types whose empty objects cause no warning.
	Quiet []reflect.Type
	// Foreign says that the objects are of an API of others: there, empty objects may mean
	// something, and unknown fields may be newer than what is known.
	Foreign bool
}

// Kind is a kind whose fields are easily put into an object of another kind.
type Kind struct {
	// Type of its objects, a struct with a field spec.
	Type reflect.Type
	// Name of the kind with its article, such as "an AWSNodeTemplate".
	Name string
}

// Decode fills into, a pointer to a struct, from a tree of JSON values that stands at
// path. Fields that the struct does not have are warnings that name the nearest known
// field, or the related kind that has it. Values of the wrong type are errors, in which
// case nothing is filled in.
func (d Decoder) Decode(tree, into any, path *field.Path) (warnings, errs finding.List) {
	object, _ := tree.(map[string]any)
	kind, _ := object["kind"].(string)
	w := walk{Decoder: d, root: reflect.TypeOf(into).Elem(), kind: kind}
	clean := w.clean(tree, w.root, path)
	if len(w.errs) > 0 {
		return w.warnings, w.errs
	}
	asJSON, err := json.Marshal(clean)
	if err == nil {
		err = json.Unmarshal(asJSON, into)
	}
	if err != nil {
		w.reject(path, tree, finding.Plain(err.Error()), finding.None)
	}
	return w.warnings, w.errs
}

// walk goes through a tree along a Go type and collects what does not belong.
type walk struct {
	Decoder
	root     reflect.Type
	kind     string // of the object, which may be of another version than the related kind of that name
	warnings finding.List
	errs     finding.List
}

func (w *walk) reject(path *field.Path, value any, text, advice finding.Message) {
	w.errs = append(w.errs, finding.Mistyped(path, value, text, advice))
}

func (w *walk) clean(value any, t reflect.Type, path *field.Path) any {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.PkgPath() != "" && reflect.PointerTo(t).Implements(unmarshaler) { // others have no methods
		if w.checkFields(value, t, path) {
			w.check(value, t, path)
		}
		return value
	}
	switch t.Kind() {
	case reflect.Struct:
		return w.cleanStruct(value, t, path)
	case reflect.Map:
		return w.cleanMap(value, t, path)
	case reflect.Slice:
		return w.cleanSlice(value, t, path)
	default:
		if _, text := value.(string); !text || t.Kind() != reflect.String { // most are, and checking takes microseconds
			w.check(value, t, path)
		}
		return value
	}
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

func (w *walk) cleanStruct(value any, t reflect.Type, path *field.Path) any {
	object, ok := value.(map[string]any)
	if !ok {
		w.mismatch(value, "an object", path)
		return nil
	}
	fields := jsonFields(t)
	out := make(map[string]any, len(object))
	for _, name := range slices.Sorted(maps.Keys(object)) {
		ft, known := fields[name]
		switch {
		case !known:
			w.warnings = append(w.warnings, finding.Finding{
				Path: path.Child(name).String(),
				Text: finding.Say("unknown field, ignored"), Advice: w.adviseField(name, t, path),
			})
		case object[name] != nil:
			out[name] = w.clean(object[name], ft, path.Child(name))
		}
	}
	if len(object) == 0 {
		w.warnEmpty(t, path)
	}
	return out
}

// warnEmpty tells of an object below the spec without any field, which often is what
// remains of a misspelt one.
func (w *walk) warnEmpty(t reflect.Type, path *field.Path) {
	at := path.String()
	if w.Foreign || !strings.HasPrefix(at, "spec.") || strings.HasSuffix(at, "]") || slices.Contains(w.Quiet, t) {
		return
	}
	w.warnings = append(w.warnings, finding.Doubtful(path, finding.Say("is empty, which has no effect"), finding.Say("set %s, or remove it", oneOf(path, slices.Sorted(maps.Keys(jsonFields(t)))))))
}

// oneOf names the only field, or says that there are several.
func oneOf(path *field.Path, fields []string) finding.Message {
	if len(fields) == 1 {
		return finding.Say("%s", finding.In(path, fields[0]))
	}
	return finding.Say("one of its fields, such as %s", finding.In(path, fields[0]))
}

func (w *walk) cleanMap(value any, t reflect.Type, path *field.Path) any {
	object, ok := value.(map[string]any)
	if !ok {
		w.mismatch(value, "an object", path)
		return nil
	}
	out := make(map[string]any, len(object))
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if object[key] != nil {
			out[key] = w.clean(object[key], t.Elem(), path.Key(key))
		} else if !w.Foreign && t.Elem().Kind() != reflect.Interface {
			w.warnings = append(w.warnings, finding.Doubtful(path.Key(key), finding.Say("has no value, ignored"), adviseEntry(key)))
		}
	}
	return out
}

// adviseEntry says how to write an entry of a map without a value. YAML takes what it holds for a part of the key
// where no space follows the colon, and so it does with comments in JSON.
func adviseEntry(key string) finding.Message {
	name, value, colon := strings.Cut(key, ":")
	switch {
	case strings.HasPrefix(key, "//"):
		return finding.Say("remove the comment: JSON has none")
	case colon && value != "":
		return finding.Say("write a space after the colon: %s: %s", name, value)
	}
	return finding.Say("give it a value, or remove it")
}

func (w *walk) cleanSlice(value any, t reflect.Type, path *field.Path) any {
	list, ok := value.([]any)
	if !ok {
		w.mismatch(value, "a list", path)
		return nil
	}
	out := make([]any, 0, len(list))
	for i, item := range list {
		switch {
		case item != nil:
			out = append(out, w.clean(item, t.Elem(), path.Index(i)))
		case !w.Foreign:
			w.reject(path.Index(i), item, finding.Say("null is no item of a list"), finding.Say("remove it"))
		}
	}
	return out
}

// check tries to decode a leaf into its type.
func (w *walk) check(value any, t reflect.Type, path *field.Path) {
	if t == reflect.TypeFor[resource.Quantity]() && isLong(value) {
		w.reject(path, value, finding.Say("%s: %s", Show(value), amount.ErrLong), finding.None)
		return
	}
	asJSON, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(asJSON, reflect.New(t).Interface())
	}
	if err == nil {
		if takesIntOrString(t) && isFraction(value) {
			w.reject(path, value, finding.Say("%s is a fraction, and the API server takes whole numbers and strings", Show(value)), adviseQuotes(value, path))
		}
		return
	}
	var mistyped *json.UnmarshalTypeError
	if errors.As(err, &mistyped) || t.Kind() == reflect.String {
		w.mismatch(value, wantedOf(value, t), path)
		return
	}
	text, advice := finding.Plain(err.Error()), finding.None
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		text, advice = finding.Say("must be a quantity such as 500m or 2Gi"), suggest.Quantity(fmt.Sprint(value))
	case reflect.TypeFor[metav1.Duration]():
		text, advice = suggest.Duration(fmt.Sprint(value))
	}
	w.reject(path, value, finding.Say("%s: %s", Show(value), text), advice)
}

// takesIntOrString tells whether the CRDs hold values of the type, which reads itself, as
// x-kubernetes-int-or-string.
func takesIntOrString(t reflect.Type) bool {
	return t == reflect.TypeFor[resource.Quantity]() || t.Kind() == reflect.String && reflect.PointerTo(t).Implements(unmarshaler)
}

func isFraction(value any) bool {
	switch value.(type) {
	case json.Number, float64:
		number, err := strconv.ParseFloat(fmt.Sprint(value), 64)
		return err == nil && number != math.Trunc(number)
	}
	return false
}

// checkFields checks those fields of an object that reads itself which read themselves,
// too: its own way of reading would not name them.
func (w *walk) checkFields(value any, t reflect.Type, path *field.Path) (ok bool) {
	object, isObject := value.(map[string]any)
	if !isObject || t.Kind() != reflect.Struct {
		return true
	}
	before, fields := len(w.errs), jsonFields(t)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		inner := fields[name]
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if object[name] != nil && reflect.PointerTo(inner).Implements(unmarshaler) {
			w.check(object[name], inner, path.Child(name))
		}
	}
	return len(w.errs) == before
}

// mismatch reports a value of the wrong type. The usual causes are missing
// quotes around what YAML reads as a boolean or number, and quotes too many.
func (w *walk) mismatch(value any, want string, path *field.Path) {
	advice := finding.None
	switch value := value.(type) {
	case bool, json.Number, float64, int64:
		if want == "a string" {
			advice = adviseQuotes(value, path)
		}
	case string:
		advice = adviseText(value, want, path)
	}
	w.reject(path, value, finding.Say("%s, and must be %s", Describe(value), want), advice)
}

// textUnits are the usual units of fields whose values are texts: a number in quotes would be refused for its
// missing unit.
var textUnits = map[string]string{
	"consolidateAfter": "s", "expireAfter": "h", "terminationGracePeriod": "s", "evictionSoftGracePeriod": "s", "duration": "h", "volumeSize": "Gi",
}

// adviseQuotes says how to write a number or a boolean where a text belongs.
func adviseQuotes(value any, path *field.Path) finding.Message {
	steps := slices.DeleteFunc(finding.Steps(path.String()), func(s finding.Step) bool { return s.Subscript })
	name := steps[len(steps)-1].Name
	unit, measured := textUnits[name]
	_, notWhole := strconv.ParseUint(fmt.Sprint(value), 10, 31)
	switch {
	case measured && notWhole != nil:
		return finding.Say("write it with a unit, such as %q", "1"+unit)
	case measured:
		return finding.Say("write it with a unit, such as %q", fmt.Sprint(value)+unit)
	case name == "evictionHard", name == "evictionSoft":
		return finding.Say("write it such as %q or %q", "500Mi", "5%")
	case name == "nodes":
		return finding.Say("write it such as 3 or %q", "10%")
	}
	return finding.Say("quote it")
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
	if length, ok := suggest.ParseDuration(value); ok {
		return finding.Say("write it in seconds without a unit: %d", int64(length.Seconds()))
	}
	return finding.Say("write it in seconds without a unit, such as 2592000 for 30 days")
}

// wantedOf names the bounds of a type for numbers that are beyond them.
func wantedOf(value any, t reflect.Type) string {
	number, isNumber := value.(json.Number)
	if t.Kind() == reflect.Int32 && isNumber && !isFraction(value) && len(number) > len("1e9") {
		return fmt.Sprintf("from %d to %d", math.MinInt32, math.MaxInt32)
	}
	return wanted(t)
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

// Describe shows a value with its type: `true is a boolean`.
func Describe(value any) string {
	switch value.(type) {
	case bool:
		return Show(value) + " is a boolean"
	case json.Number, float64, int64:
		return Show(value) + " is a number"
	case string:
		return Show(value) + " is a string"
	case []any:
		return Show(value) + " is a list"
	default:
		return Show(value) + " is an object"
	}
}

// Show abbreviates a value for a message.
func Show(value any) string {
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
		case name == "-", !f.IsExported() && !f.Anonymous:
		case f.Anonymous && name == "" && f.Type.Kind() != reflect.Struct: // as in a Quantity, which reads itself
		case f.Anonymous && name == "":
			maps.Copy(out, jsonFields(f.Type))
		default:
			out[name] = f.Type
		}
	}
	knownFields.Store(t, out)
	return out
}
