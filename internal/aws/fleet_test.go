package aws

import (
	"testing"
)

// An account may want that machines show their tags in their metadata. EC2 refuses keys with a slash then, as the agent's tags have.
func TestTagsStayOutOfMetadata(t *testing.T) {
	f := start(t)
	behaviour := f.account.Behaviour()
	behaviour.MetadataTags = true
	f.account.SetBehaviour(behaviour)
	d := f.launch(t, order("launch-1", 1, onDemand("m5.large", "a")))
	if len(d.Instances) != 1 {
		t.Errorf("refusals %+v, want a machine", d.Refusals)
	}
}
