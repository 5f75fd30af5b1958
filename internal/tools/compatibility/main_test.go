package main

import (
	"io"
	"strings"
	"testing"
)

const page = `# Versions

| | tested |
| --- | --- |
| Engine | see below |

| Engine | Tests passed | functions | list resources | Run on |
| --- | --- | --- | --- | --- |
| OpenTofu 1.12.6 | 1 | no | no | 2026-01-01 |

The end.
`

func TestRecord(t *testing.T) {
	const passing = `{"Action":"output","Package":"p","Test":"TestA/functions","Output":"    a_test.go:1: feature functions: yes\n"}
{"Action":"pass","Package":"p","Test":"TestA/functions"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestB"}
{"Action":"pass","Package":"p"}
`
	ran, err := read(strings.NewReader(passing), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	ran.cells["Run on"] = "2026-11-23"
	for row, want := range map[string]string{
		"OpenTofu 1.12.6":  "| OpenTofu 1.12.6 | 2 | yes | – | 2026-11-23 |\n\nThe end.",
		"Terraform 1.11.4": "| OpenTofu 1.12.6 | 1 | no | no | 2026-01-01 |\n| Terraform 1.11.4 | 2 | yes | – | 2026-11-23 |\n\nThe end.",
	} {
		got, err := write(page, "Engine", row, ran.cells)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(got, "| --- |\n"+want) {
			t.Errorf("the page with the row of %s:\n%s\nwant:\n%s", row, got, want)
		}
	}
	if _, err := write(page, "Kubernetes", "1.37", nil); err == nil {
		t.Error("a page without the table is written")
	}
}

func TestRecordRefuses(t *testing.T) {
	tests := map[string]struct{ output, want string }{
		"failed-test": {`{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB","Output":"it is wrong\n"}
{"Action":"fail","Package":"p","Test":"TestB"}`, "failed: p TestB"},
		"not-compiled": {`{"ImportPath":"p","Action":"build-output","Output":"it is wrong\n"}
{"ImportPath":"p","Action":"build-fail"}
{"Action":"fail","Package":"p"}`, "failed: p"},
		"nothing": {"", "no test ran"},
		"cut-off": {`{"Action":"start","Package":"p"}
{"Action":"start","Package":"q"}
{"Action":"pass","Package":"q","Test":"TestA"}
{"Action":"pass","Package":"q"}`, "the run was cut off in p"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var printed strings.Builder
			_, err := read(strings.NewReader(tt.output), &printed)
			if err == nil || err.Error() != tt.want {
				t.Errorf("error %v, want %s", err, tt.want)
			}
			if strings.Contains(tt.output, "it is wrong") && !strings.Contains(printed.String(), "it is wrong") {
				t.Errorf("it does not repeat what is wrong:\n%s", printed.String())
			}
		})
	}
}
