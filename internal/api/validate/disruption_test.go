package validate

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// A schedule that no day matches is refused wherever it is, and so is a time zone that depends on the computer.
func TestSchedulesAndZones(t *testing.T) {
	day := metav1.Duration{Duration: 24 * time.Hour}
	for name, c := range map[string]struct {
		disruption api.Disruption
		want       string // the path of the error
	}{
		"a budget":              {api.Disruption{Budgets: []api.Budget{{Nodes: "0", Schedule: ptr.To("0 0 30 11 *"), Duration: &day}}}, ""},
		"a budget of no day":    {api.Disruption{Budgets: []api.Budget{{Nodes: "0", Schedule: ptr.To("0 0 31 11 *"), Duration: &day}}}, "budgets[0].schedule"},
		"a window":              {api.Disruption{Windows: []api.Window{{Schedule: "0 0 29 2 *", TimeZone: ptr.To("Europe/Berlin"), Duration: day}}}, ""},
		"a window of no day":    {api.Disruption{Windows: []api.Window{{Schedule: "0 0 31 11 *", Duration: day}}}, "windows[0].schedule"},
		"the computer's zone":   {api.Disruption{Windows: []api.Window{{Schedule: "@daily", TimeZone: ptr.To("Local"), Duration: day}}}, "windows[0].timeZone"},
		"a zone of no database": {api.Disruption{Windows: []api.Window{{Schedule: "@daily", TimeZone: ptr.To("Berlin"), Duration: day}}}, "windows[0].timeZone"},
	} {
		got := ""
		for _, f := range validateDisruption(&c.disruption, nil) {
			got += f.Path
		}
		if got != c.want {
			t.Errorf("%s: errors at %q, want %q", name, got, c.want)
		}
	}
}
