package spdx

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestDocument(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := Document("program", "1.2.3", self)
	if err != nil {
		t.Fatal(err)
	}
	var bill struct {
		Version       string `json:"spdxVersion"`
		Packages      []goPackage
		Relationships []relation
	}
	if err := json.Unmarshal(raw, &bill); err != nil {
		t.Fatal(err)
	}
	if bill.Version != "SPDX-2.3" || bill.Packages[1].Version != runtime.Version() || len(bill.Relationships) != len(bill.Packages) {
		t.Errorf("bill %s", raw)
	}
}

func TestDocumentOfNoBinary(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no binary"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Document("program", "1.2.3", text); err == nil {
		t.Error("a text has a bill of materials")
	}
}
