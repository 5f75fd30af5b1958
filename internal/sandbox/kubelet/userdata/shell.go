package userdata

import (
	"errors"
	"fmt"
	"strings"
)

// shellScript reads the simple commands of a shell script: enough of the language to find how
// the script that Packhorse writes calls one program. It understands quotes, escapes, continued
// lines and comments. Variables and substitutions stay as they are, here-documents are read as
// commands, and control flow is not followed.
type shellScript struct {
	text     string
	position int

	commands [][]string
	words    []string
	word     strings.Builder
	inWord   bool // the current word exists, though it may be empty ("")
}

var errUnterminated = errors.New("unterminated quote")

// shellCommands returns the simple commands of a script, each as its words.
func shellCommands(script string) ([][]string, error) {
	s := &shellScript{text: script}
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
	case c == '#' && !s.inWord:
		s.skipLine()
	case c == '\n':
		s.position++
		s.endCommand()
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

func (s *shellScript) skipLine() {
	end := strings.IndexByte(s.text[s.position:], '\n')
	if end < 0 {
		end = len(s.text) - s.position
	}
	s.position += end
}

func (s *shellScript) endWord() {
	if !s.inWord {
		return
	}
	s.words = append(s.words, s.word.String())
	s.word.Reset()
	s.inWord = false
}

func (s *shellScript) endCommand() {
	s.endWord()
	if len(s.words) > 0 {
		s.commands = append(s.commands, s.words)
	}
	s.words = nil
}
