package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// generated is in the form of the SDK's own serializers.
const generated = `
func awsEc2query_serializeOpDocumentDoInput(v *DoInput, value query.Value) error {
	if v.Name != nil {
		objectKey := object.Key("Name")
	}
	if v.Filters != nil {
		objectKey := object.FlatKey("Filter")
		awsEc2query_serializeDocumentFilterList(v.Filters, objectKey)
	}
}

func awsEc2query_serializeDocumentFilterList(v []types.Filter, value query.Value) error {
	awsEc2query_serializeDocumentFilter(&v[i], av)
}

func awsEc2query_serializeDocumentFilter(v *types.Filter, value query.Value) error {
	if len(v.Kind) > 0 {
		objectKey := object.Key("FilterKind")
	}
}

func awsEc2query_serializeDocumentOther(v *types.Other, value query.Value) error {
	if v.A != nil {
		objectKey := object.Key("NotReached")
	}
}

func awsEc2query_deserializeOpDocumentDoOutput(v **DoOutput, decoder smithyxml.NodeDecoder) error {
	switch {
	case strings.EqualFold("things", t.Name.Local):
		awsEc2query_deserializeDocumentThings(&sv.Things, nodeDecoder)
	case strings.EqualFold("tagSet", t.Name.Local):
		awsEc2query_deserializeDocumentTags(&sv.Tags, nodeDecoder)
	}
}

func awsEc2query_deserializeDocumentThings(v *[]types.Thing, decoder smithyxml.NodeDecoder) error {
	case strings.EqualFold("member", t.Name.Local):
}

func awsEc2query_deserializeDocumentTags(v *[]types.Tag, decoder smithyxml.NodeDecoder) error {
	case strings.EqualFold("item", t.Name.Local):
}
`

func TestNamesThatDiffer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "serializers.go")
	if err := os.WriteFile(path, []byte(generated), 0o600); err != nil {
		t.Fatal(err)
	}
	shapes := readShapes(path)
	requests, responses, items := map[string]string{}, map[string]string{}, map[string]string{}
	follow(shapes, "awsEc2query_serializeOpDocumentDoInput", map[string]bool{}, func(s shape) { collectRequest(s, requests) })
	follow(shapes, "awsEc2query_deserializeOpDocumentDoOutput", map[string]bool{}, func(s shape) {
		collectResponse(s, responses)
		collectItems(s, shapes, items)
	})
	got := []map[string]string{requests, responses, items}
	want := []map[string]string{
		{"DoInput.Filters": "Filter", "Filter.Kind": "FilterKind"},
		{"DoOutput.Tags": "tagSet"},
		{"DoOutput.Things": "member"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}
