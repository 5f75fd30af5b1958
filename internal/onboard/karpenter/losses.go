package karpenter

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/suggest"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// lose notes that a field of the origin has no counterpart.
func (o *Object) lose(path, why string) {
	o.leave(path, why)
	o.lost = append(o.lost, o.Losses[len(o.Losses)-1])
}

// leave notes that a Provisioner or an AWSNodeTemplate has no counterpart of a field,
// which is served all the same.
func (o *Object) leave(path, why string) {
	o.Losses = append(o.Losses, finding.Finding{Path: path, Text: finding.Plain(why)})
}

// ownMetadata says which labels and annotations of an object itself, not of its nodes, are lost. Those that Karpenter and
// kubectl write mean nothing to others.
func ownMetadata(document map[string]any) finding.List {
	var out finding.List
	metadata, _ := document["metadata"].(map[string]any)
	for _, name := range []string{"annotations", "labels"} {
		entries, _ := metadata[name].(map[string]any)
		keys := slices.DeleteFunc(slices.Sorted(maps.Keys(entries)), func(key string) bool {
			domain, _, _ := strings.Cut(key, "/")
			return api.InDomain(domain, api.ProvisionerGroup) || api.InDomain(domain, api.NodeTemplateGroup) || domain == "kubectl.kubernetes.io"
		})
		if len(keys) > 0 {
			text := "are not converted, so that tools such as Argo CD or Flux do not find them: " + strings.Join(keys, ", ")
			out = append(out, finding.Finding{Path: "metadata." + name, Text: finding.Plain(text)})
		}
	}
	return out
}

// refuse notes a field without which nodes would not be what they are meant to be.
func (o *Object) refuse(path, why string) {
	o.lose(path, why)
	o.Unsupported = append(o.Unsupported, o.Losses[len(o.Losses)-1])
}

// seconds converts a duration of Kubernetes; false for "Never".
func seconds(text string) (int64, bool, error) {
	if text == never {
		return 0, false, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		wrong, _ := suggest.Duration(text)
		return 0, false, fmt.Errorf("%q %s", text, wrong)
	}
	return int64(d / time.Second), true, nil
}

const never = "Never"

// plain turns a typed value into JSON objects with whole numbers as int64.
func plain(value any) (map[string]any, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	err = json.Unmarshal(raw, &out)
	return out, err
}
