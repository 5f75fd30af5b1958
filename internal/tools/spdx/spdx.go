// Package spdx writes bills of materials of Go programs.
package spdx

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
)

// goPackage is a package in the sense of SPDX 2.3 (https://spdx.github.io/spdx-spec/v2.3/).
type goPackage struct {
	Name             string      `json:"name"`
	ID               string      `json:"SPDXID"`
	Version          string      `json:"versionInfo,omitempty"`
	DownloadLocation string      `json:"downloadLocation"`
	FilesAnalyzed    bool        `json:"filesAnalyzed"`
	Checksums        []checksum  `json:"checksums,omitempty"`
	References       []reference `json:"externalRefs,omitempty"`
}

type checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type reference struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relation struct {
	From string `json:"spdxElementId"`
	Type string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

// Document lists the Go release and the modules that the linker has recorded in a
// binary, as SPDX 2.3 in JSON. The time of creation in it is always 1970, so that the same
// binary has the same document. It is an error if the file is not a Go binary.
func Document(name, version, path string) ([]byte, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read what %s was built from: %w", path, err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(content)
	digest := hex.EncodeToString(sum[:])
	const root = "SPDXRef-binary"
	packages := []goPackage{
		{Name: name, ID: root, Version: version, DownloadLocation: "NOASSERTION", Checksums: []checksum{{"SHA256", digest}}},
		{Name: "go", ID: "SPDXRef-go", Version: info.GoVersion, DownloadLocation: "https://go.dev/dl/"},
	}
	relations := []relation{{"SPDXRef-DOCUMENT", "DESCRIBES", root}, {root, "GENERATED_FROM", "SPDXRef-go"}}
	for _, module := range info.Deps {
		p := ofModule(module)
		packages = append(packages, p)
		relations = append(relations, relation{root, "CONTAINS", p.ID})
	}
	return json.MarshalIndent(map[string]any{
		"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name + "-" + version,
		"documentNamespace": "https://packhorse.io/spdx/" + name + "-" + version + "-" + digest,
		"creationInfo":      map[string]any{"created": "1970-01-01T00:00:00Z", "creators": []string{"Tool: packhorse-spdx"}},
		"packages":          packages, "relationships": relations,
	}, "", "  ")
}

// notInID are the characters that SPDX does not have in identifiers.
var notInID = regexp.MustCompile(`[^A-Za-z0-9.-]`)

func ofModule(m *debug.Module) goPackage {
	if m.Replace != nil {
		m = m.Replace
	}
	return goPackage{
		Name: m.Path, ID: "SPDXRef-" + notInID.ReplaceAllString(m.Path, "-"), Version: m.Version,
		DownloadLocation: "https://proxy.golang.org/" + m.Path + "/@v/" + m.Version + ".zip",
		References:       []reference{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + m.Path + "@" + m.Version}},
	}
}
