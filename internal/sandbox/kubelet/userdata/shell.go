package userdata

import (
	"errors"
	"fmt"
	"strings"
)

// shellScript reads the simple commands of a shell script: enough of the language
// to find how one program is called. Quotes, escapes, continued lines, comments,
// here-documents and variables that the script sets itself are understood; command
// substitutions are left as they stand, and control flow is not followed.
type shellScript struct {
	text      string
	position  int
	variables map[string]string

	commands [][]string
	words    []string
	word     strings.Builder
	inWord   bool     // the current word exists, though it may be empty ("")
	heredocs []string // delimiters of here-documents that begin at the next line
}

// maxWordBytes bounds what variables may grow to: a script that doubles one in
// each line would otherwise fill the memory.
const maxWordBytes = 64 << 10

var (
	errUnterminated = errors.New("unterminated quote")
	errTooLong      = errors.New("a variable grows beyond bounds")
)

// shellCommands returns the simple commands of a script, each as its words.
func shellCommands(script string) ([][]string, error) {
	s := &shellScript{text: script, variables: map[string]string{}}
	for s.position < len(s.text) {
		if err := s.next(); err != nil {
			return nil, fmt.Errorf("shell script: %w in line %d", err, 1+strings.Count(s.text[:min(s.position, len(s.text))], "\n"))
		}
	}
	s.endCommand()
	return s.commands, nil
}

// next consumes one element of the script.
func (s *shellScript) next() error {
	c := s.text[s.position]
	switch {
	case c == '\\':
		s.escape()
	case c == '\'':
		return s.singleQuoted()
	case c == '"':
		return s.doubleQuoted()
	case c == '$':
		return s.substitute(true)
	case c == '#' && !s.inWord:
		s.skipLine()
	case c == '\n':
		s.position++
		s.endCommand()
		s.skipHeredocs()
	case strings.HasPrefix(s.text[s.position:], "<<") && !strings.HasPrefix(s.text[s.position:], "<<<"):
		s.beginHeredoc()
	case strings.ContainsRune(";&|()", rune(c)):
		s.position++
		s.endCommand()
	case c == ' ' || c == '\t' || c == '\r':
		s.position++
		s.endWord()
	default:
		s.position++
		s.put(c)
	}
	return nil
}

func (s *shellScript) put(c byte) {
	s.inWord = true
	s.word.WriteByte(c)
}

// escape takes the character after a backslash literally; an escaped line break
// is nothing at all.
func (s *shellScript) escape() {
	s.position++
	if s.position == len(s.text) {
		return
	}
	if c := s.text[s.position]; c != '\n' {
		s.put(c)
	}
	s.position++
}

func (s *shellScript) singleQuoted() error {
	s.inWord = true
	rest := s.text[s.position+1:]
	end := strings.IndexByte(rest, '\'')
	if end < 0 {
		return errUnterminated
	}
	s.word.WriteString(rest[:end])
	s.position += end + 2
	return nil
}

func (s *shellScript) doubleQuoted() error {
	s.inWord = true
	for s.position++; s.position < len(s.text); {
		switch c := s.text[s.position]; c {
		case '"':
			s.position++
			return nil
		case '$':
			if err := s.substitute(false); err != nil {
				return err
			}
		case '\\':
			s.escapeInQuotes()
		default:
			s.word.WriteByte(c)
			s.position++
		}
	}
	return errUnterminated
}

// escapeInQuotes handles a backslash between double quotes, which is special only
// before the characters that would otherwise be.
func (s *shellScript) escapeInQuotes() {
	s.position++
	if s.position == len(s.text) {
		return
	}
	c := s.text[s.position]
	s.position++
	if c == '\n' {
		return
	}
	if !strings.ContainsRune("$`\"\\", rune(c)) {
		s.word.WriteByte('\\')
	}
	s.word.WriteByte(c)
}

// substitute replaces $NAME and ${NAME}. Without quotes around it the value is
// split at blanks into words. What cannot be known, such as $(…), stays as it is.
func (s *shellScript) substitute(split bool) error {
	rest := s.text[s.position:]
	name, length := variableName(rest)
	if length == 0 {
		end := 1
		if strings.HasPrefix(rest, "$(") {
			end = closing(rest)
		}
		s.inWord = true
		s.word.WriteString(rest[:end])
		s.position += end
		return nil
	}
	s.position += length
	value := s.variables[name]
	if s.word.Len()+len(value) > maxWordBytes {
		return errTooLong
	}
	if !split {
		s.word.WriteString(value)
		return nil
	}
	for i, field := range strings.Fields(value) {
		if i > 0 {
			s.endWord()
		}
		s.inWord = true
		s.word.WriteString(field)
	}
	return nil
}

// variableName reads $NAME or ${NAME} at the start of text. Length is 0 if it is
// neither.
func variableName(text string) (name string, length int) {
	braced := strings.HasPrefix(text, "${")
	start := 1
	if braced {
		start = 2
	}
	end := start
	for end < len(text) && (text[end] == '_' || isAlphanumeric(text[end])) {
		end++
	}
	if end == start {
		return "", 0
	}
	if !braced {
		return text[start:end], end
	}
	if end == len(text) || text[end] != '}' {
		return "", 0
	}
	return text[start:end], end + 1
}

func isAlphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// closing returns the length of the parenthesised expression at the start of text.
func closing(text string) int {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(':
			depth++
		case ')':
			depth--
			if depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}

func (s *shellScript) skipLine() {
	end := strings.IndexByte(s.text[s.position:], '\n')
	if end < 0 {
		end = len(s.text) - s.position
	}
	s.position += end
}

// beginHeredoc notes the delimiter of a here-document.
func (s *shellScript) beginHeredoc() {
	s.endWord()
	rest := strings.TrimLeft(strings.TrimPrefix(s.text[s.position+2:], "-"), " \t")
	s.position = len(s.text) - len(rest)
	end := strings.IndexAny(rest, " \t\n;|&>)")
	if end < 0 {
		end = len(rest)
	}
	s.heredocs = append(s.heredocs, strings.Trim(rest[:end], `'"\`))
	s.position += end
}

// skipHeredocs passes over the here-documents that begin at the current line.
func (s *shellScript) skipHeredocs() {
	for _, delimiter := range s.heredocs {
		for s.position < len(s.text) {
			line, _, _ := strings.Cut(s.text[s.position:], "\n")
			s.position = min(s.position+len(line)+1, len(s.text))
			if strings.TrimLeft(line, "\t") == delimiter {
				break
			}
		}
	}
	s.heredocs = nil
}

// endWord finishes a word. An assignment before the command's name sets a variable.
func (s *shellScript) endWord() {
	if !s.inWord {
		return
	}
	word := s.word.String()
	s.word.Reset()
	s.inWord = false
	if len(s.words) == 0 || len(s.words) == 1 && s.words[0] == "export" {
		if name, value, ok := strings.Cut(word, "="); ok && isVariable(name) {
			s.variables[name] = value
			return
		}
	}
	s.words = append(s.words, word)
}

func isVariable(name string) bool {
	_, length := variableName("$" + name)
	return length == len(name)+1
}

func (s *shellScript) endCommand() {
	s.endWord()
	if len(s.words) > 0 {
		s.commands = append(s.commands, s.words)
	}
	s.words = nil
}
