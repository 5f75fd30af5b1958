package session

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// refusing is a platform on which AWS denies all, in the region of a profile.
type refusing struct {
	Platform
	region string
}

func (refusing) Account(context.Context) (*Account, error) { return nil, errors.New("access denied") }

func (refusing) Cluster(context.Context) (Cluster, error) { return nil, errors.New("unreachable") }

func (refusing) Stock(context.Context, offer.NodeOptions) (*Stock, error) {
	return nil, errors.New("access denied")
}

func (r refusing) Region(context.Context) (string, error) { return r.region, nil }

// Without access to AWS, the embedded table answers for its regions. For others, the error says why AWS has not.
func TestStockWithoutAWS(t *testing.T) {
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	for name, tt := range map[string]struct {
		block, profile string
		want           []string // parts of the error, or of the note
		fails          bool
	}{
		"a region of the table":          {block: "us-west-2", want: []string{"AWS was not asked: access denied"}},
		"another region":                 {block: "eu-central-1", want: []string{"AWS was not asked: access denied", `"eu-central-1"`}, fails: true},
		"a region of the profile":        {profile: "us-west-2", want: []string{"AWS was not asked: access denied"}},
		"another region, of the profile": {profile: "eu-central-1", want: []string{"AWS was not asked: access denied", `"eu-central-1"`}, fails: true},
		"no region":                      {want: []string{"AWS was not asked: access denied", "set `region`"}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := Config{ClusterName: "prod"}
			cfg.AWS.Region = tt.block
			stock, err := New(cfg, func(Config) Platform { return refusing{region: tt.profile} }).Stock(t.Context())
			if (err != nil) != tt.fails {
				t.Fatalf("error = %v", err)
			}
			var got string
			if err != nil {
				got = err.Error()
			} else {
				got = stock.Note
			}
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("it says %q, want %q", got, want)
				}
			}
		})
	}
}
