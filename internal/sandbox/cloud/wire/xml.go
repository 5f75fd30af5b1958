package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"reflect"
	"strconv"
	"time"
)

// timeLayout is how the query protocols write times: milliseconds, in UTC.
const timeLayout = "2006-01-02T15:04:05.000Z"

// EncodeXML writes the fields of output, a pointer to an SDK output struct, as
// elements, without an element around them: what stands around them differs by
// service.
func (d Dialect) EncodeXML(buffer *bytes.Buffer, output any) error {
	return d.encodeStruct(buffer, reflect.ValueOf(output).Elem())
}

// EscapeXML returns text as it may stand between tags.
func EscapeXML(text string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(text)) // a bytes.Buffer does not fail
	return b.String()
}

func (d Dialect) encodeStruct(b *bytes.Buffer, v reflect.Value) error {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !onWire(field) || isAbsent(v.Field(i)) {
			continue
		}
		name, item := d.responseName(v.Type(), field.Name), d.itemName(v.Type(), field.Name)
		if err := d.encodeElement(b, name, item, v.Field(i)); err != nil {
			return fmt.Errorf("encode %s.%s: %w", v.Type().Name(), field.Name, err)
		}
	}
	return nil
}

// encodeElement writes an element called name; if it is a list, those of its
// items are called item.
func (d Dialect) encodeElement(b *bytes.Buffer, name, item string, v reflect.Value) error {
	b.WriteString("<" + name + ">")
	if err := d.encodeContent(b, item, v); err != nil {
		return err
	}
	b.WriteString("</" + name + ">")
	return nil
}

func (d Dialect) encodeContent(b *bytes.Buffer, item string, v reflect.Value) error {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch {
	case v.Type() == timeType:
		b.WriteString(v.Interface().(time.Time).UTC().Format(timeLayout))
		return nil
	case v.Type() == bytesType:
		b.WriteString(base64.StdEncoding.EncodeToString(v.Bytes()))
		return nil
	}
	switch v.Kind() {
	case reflect.Struct:
		return d.encodeStruct(b, v)
	case reflect.Slice:
		for i := range v.Len() {
			if err := d.encodeElement(b, item, d.listItem, v.Index(i)); err != nil {
				return err
			}
		}
		return nil
	}
	text, err := scalarText(v)
	if err != nil {
		return err
	}
	b.WriteString(EscapeXML(text))
	return nil
}

func scalarText(v reflect.Value) (string, error) {
	switch v.Kind() {
	case reflect.String:
		return v.String(), nil
	case reflect.Bool:
		return strconv.FormatBool(v.Bool()), nil
	case reflect.Int32, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10), nil
	case reflect.Float32, reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'f', -1, v.Type().Bits()), nil
	default:
		return "", fmt.Errorf("no XML form for type %s", v.Type())
	}
}

// isAbsent tells whether a field was not set: a nil pointer or list, or an
// empty enumeration value.
func isAbsent(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return v.IsNil()
	case reflect.String:
		return v.Len() == 0
	default:
		return false
	}
}
