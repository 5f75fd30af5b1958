package karpenter_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/check/corpus"
)

var index = regexp.MustCompile(`\[\d+\]`)

// TestCorpusIsServed checks that what the API server takes of NodePools and EC2NodeClasses is served, but for
// fields and values of which the page says that they are not.
func TestCorpusIsServed(t *testing.T) {
	page, err := os.ReadFile("../../../docs/karpenter-fields.md")
	if err != nil {
		t.Fatal(err)
	}
	cases, err := corpus.Cases()
	if err != nil {
		t.Fatal(err)
	}
	notServed := map[string]string{
		"NodePool: replicas": "spec.replicas",

		"EC2NodeClass: an alias with the family Custom": "spec.amiFamily",
		"EC2NodeClass: Windows with instance store":     "spec.instanceStorePolicy",
		"EC2NodeClass: a placement group by name":       "spec.placementGroupSelector",
		"EC2NodeClass: a placement group by id":         "spec.placementGroupSelector",
		"EC2NodeClass: ipPrefixCount":                   "spec.ipPrefixCount",
		"EC2NodeClass: network interfaces":              "spec.networkInterfaces",
		"EC2NodeClass: connection tracking":             "spec.connectionTracking",
		"EC2NodeClass: nested virtualization":           "spec.cpuOptions",
		"EC2NodeClass: context":                         "spec.context",
		"EC2NodeClass: volumes":                         "spec.blockDeviceMappings[1].ebs.volumeInitializationRate",
	}
	for _, c := range cases {
		if c.Refused != "" || karpenter.Foreign(c.Document) != "" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			served, err := karpenter.Serve([]map[string]any{c.Document})
			if err != nil || len(served) != 1 {
				t.Fatalf("%v, %v", served, err)
			}
			var source *api.Origin
			if p := served[0].Provisioner; p != nil {
				source = p.Source
			} else {
				source = served[0].NodeTemplate.Source
			}
			want := notServed[c.Name]
			switch {
			case want == "" && len(source.Unsupported) > 0:
				t.Errorf("not served: %+v", source.Unsupported)
			case want != "" && (len(source.Unsupported) != 1 || source.Unsupported[0].Path != want):
				t.Errorf("not served for %+v, want %s", source.Unsupported, want)
			case want != "" && !regexp.MustCompile("(?m)^\\| .*`"+regexp.QuoteMeta(index.ReplaceAllString(want, "[]"))+"`.* \\| .*not ready").Match(page):
				t.Errorf("the page does not say that a NodePool with %s is not ready", want)
			}
		})
	}
}
