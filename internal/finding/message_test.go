package finding

import (
	"strings"
	"testing"
)

// Fields are spelled for the audience, and words that look like them are not.
func TestMessagesSpellTheirFields(t *testing.T) {
	limits, pods := Field{Path: "spec.limits"}, Field{Path: "spec.kubeletConfiguration.maxPods", Name: "maxPods"}
	m := Say("%d%% of %s: %s", 5, limits, Say("%s is not %q", pods, "maxPods"))
	if got, want := m.String(), `5% of spec.limits: maxPods is not "maxPods"`; got != want {
		t.Errorf("message = %s, want %s", got, want)
	}
	upper := func(f Field) string { return strings.ToUpper(f.String()) }
	if got, want := m.Spell(upper), `5% of SPEC.LIMITS: MAXPODS is not "maxPods"`; got != want {
		t.Errorf("spelled = %s, want %s", got, want)
	}
}

func TestPlainMessages(t *testing.T) {
	for _, words := range []string{"", "100% sure", "%s"} {
		if m := Plain(words); m.String() != words || m.Empty() != (words == "") {
			t.Errorf("message of %q = %q", words, m)
		}
	}
}

func TestSentence(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "remove it": "Remove it.", "did you mean 1?": "Did you mean 1?", "wait. Then go": "Wait. Then go.", "Go.": "Go.",
	} {
		if got := Sentence(in); got != want {
			t.Errorf("sentence of %q = %q, want %q", in, got, want)
		}
	}
}
