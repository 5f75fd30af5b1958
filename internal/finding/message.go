package finding

import (
	"fmt"
	"strings"
)

// Field names a field of an object in a Message, so that each audience reads it as it
// writes it: in the JSON of the API, or as an attribute of Terraform.
type Field struct {
	// Path is the JSON path, such as spec.kubeletConfiguration.maxPods.
	Path string
	// Name is the last step of the path where the message names no more, such as maxPods.
	// It is empty where the message shows the whole path.
	Name string
}

// String returns the name or the path, as JSON has it.
func (f Field) String() string {
	if f.Name != "" {
		return f.Name
	}
	return f.Path
}

// Message is what a Finding says. It keeps the fields that it names apart from its words.
// The zero value says nothing.
type Message struct {
	format string
	args   []any
}

// Say formats a message as fmt.Sprintf does. Arguments may be Fields and Messages, which
// take the verb %s.
func Say(format string, args ...any) Message { return Message{format, args} }

// Plain returns a message of words that name no field.
func Plain(words string) Message {
	if words == "" {
		return Message{}
	}
	return Message{"%s", []any{words}}
}

// Empty reports whether the message says nothing.
func (m Message) Empty() bool { return m.format == "" }

// Equal reports whether two messages read the same.
func (m Message) Equal(other Message) bool { return m.String() == other.String() }

// String returns the message with the fields as JSON has them.
func (m Message) String() string { return m.Spell(Field.String) }

// Spell returns the message with each field as the function spells it.
func (m Message) Spell(spelling func(Field) string) string {
	return fmt.Sprintf(m.format, m.with(func(f Field) any { return spelling(f) }, func(inner Message) any { return inner.Spell(spelling) })...)
}

// moved returns the message with the paths of its fields as the function gives them.
func (m Message) moved(to func(path string) string) Message {
	return Message{m.format, m.with(func(f Field) any { return Field{to(f.Path), f.Name} }, func(inner Message) any { return inner.moved(to) })}
}

// with returns the arguments. The functions convert the fields and the messages among them.
func (m Message) with(field func(Field) any, message func(Message) any) []any {
	args := make([]any, len(m.args))
	for i, arg := range m.args {
		switch arg := arg.(type) {
		case Field:
			args[i] = field(arg)
		case Message:
			args[i] = message(arg)
		default:
			args[i] = arg
		}
	}
	return args
}

// Choice lists words as "a, b or c".
func Choice[T ~string](words []T) string {
	out := make([]string, len(words))
	for i, word := range words {
		out[i] = string(word)
	}
	if last := len(out) - 1; last > 0 {
		return strings.Join(out[:last], ", ") + " or " + out[last]
	}
	return out[0]
}

// Sentence writes an advice as a sentence of its own: with a capital letter and a full
// stop, unless it is a question.
func Sentence(advice string) string {
	if advice == "" {
		return ""
	}
	advice = strings.ToUpper(advice[:1]) + advice[1:]
	if strings.HasSuffix(advice, "?") || strings.HasSuffix(advice, ".") {
		return advice
	}
	return advice + "."
}
