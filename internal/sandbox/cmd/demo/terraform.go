package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// workloadPods is the number of replicas in examples/quickstart/workload.yaml.
const workloadPods = 43

// applyReader turns the lines of `terraform apply -json` into lines of the story.
type applyReader struct {
	story *story
	rest  []byte
	seen  []string // summaries of diagnostics
}

func newApplyReader(s *story) *applyReader { return &applyReader{story: s} }

// Write takes any part of Terraform's output.
func (a *applyReader) Write(p []byte) (int, error) {
	a.rest = append(a.rest, p...)
	for {
		line, rest, found := bytes.Cut(a.rest, []byte("\n"))
		if !found {
			return len(p), nil
		}
		a.tell(line)
		a.rest = rest
	}
}

// event is the part of Terraform's machine-readable output that the story uses.
type event struct {
	Type string `json:"type"`
	Hook struct {
		Resource struct {
			Addr string `json:"addr"`
		} `json:"resource"`
		Action         string  `json:"action"`
		ElapsedSeconds float64 `json:"elapsed_seconds"`
	} `json:"hook"`
	Diagnostic struct {
		Severity string `json:"severity"`
		Summary  string `json:"summary"`
		Detail   string `json:"detail"`
	} `json:"diagnostic"`
	Message string `json:"@message"`
}

func (a *applyReader) tell(line []byte) {
	var e event
	if json.Unmarshal(line, &e) != nil {
		return
	}
	switch e.Type {
	case "apply_complete":
		verb := map[string]string{"create": "created", "delete": "destroyed", "update": "updated"}[e.Hook.Action]
		if verb != "" {
			a.story.say("%s %s", a.story.paint(green, verb), e.Hook.Resource.Addr)
		}
	case "apply_progress":
		a.story.progress("%s", e.Message)
	case "change_summary":
		a.story.say("%s", strings.TrimPrefix(e.Message, "Apply complete! "))
	case "diagnostic":
		a.diagnose(e.Diagnostic.Severity+": "+e.Diagnostic.Summary, e.Diagnostic.Detail, e.Diagnostic.Severity == "error")
	}
}

// diagnose tells a diagnostic the first time: Terraform gives it when it plans and
// again when it applies. Of a warning the summary is enough for a story.
func (a *applyReader) diagnose(summary, detail string, broken bool) {
	if slices.Contains(a.seen, summary) {
		return
	}
	a.seen = append(a.seen, summary)
	if !broken {
		a.story.say("%s", a.story.paint(amber, summary))
		return
	}
	a.story.say("%s", a.story.paint(red, summary+"\n"+detail))
}
