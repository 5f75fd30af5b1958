package aws

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"golang.org/x/sync/singleflight"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/call"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/client"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/refusal"
)

// templatePrefix is the prefix of the names of the agent's launch templates.
const templatePrefix = "packhorse/"

// unusedFor is how long a launch template is kept after its last use.
const unusedFor = time.Hour

// templates creates launch templates when they are needed. Their names consist of the prefix,
// an id of the process, and a hash of the content.
type templates struct {
	listings, writes *client.EC2
	options          Options
	started          time.Time
	prefix           string // of the names of this process's templates

	making singleflight.Group // by name

	mu   sync.Mutex
	used map[string]time.Time // last use of those that are known to exist, by name
}

func newTemplates(listings, writes *client.EC2, o Options) *templates {
	return &templates{
		listings: listings, writes: writes, options: o, started: o.Now(), prefix: templatePrefix + rand.Text()[:12] + "/", used: map[string]time.Time{},
	}
}

// name returns the name of the launch template with the content.
func (t *templates) name(data *types.RequestLaunchTemplateData) (string, error) {
	text, err := json.Marshal(data)
	if err != nil {
		return "", fmt.Errorf("hash launch template: %w", err)
	}
	sum := sha256.Sum256(text)
	return t.prefix + hex.EncodeToString(sum[:16]), nil
}

// ensure returns the name of the launch template with the content. It creates the template if
// necessary. Orders that need the same template at the same time wait until one of them has
// created it, because EC2 refuses a fleet request whose template does not exist yet.
func (t *templates) ensure(ctx context.Context, data *types.RequestLaunchTemplateData, tags map[string]string) (string, error) {
	name, err := t.name(data)
	if err != nil || t.use(name) {
		return name, err
	}
	_, err, _ = t.making.Do(name, func() (any, error) {
		if t.use(name) {
			return nil, nil
		}
		// The other orders wait for it too, even if this one is given up.
		return nil, t.create(context.WithoutCancel(ctx), name, data, tags)
	})
	return name, err
}

// use notes the use of a template, and reports whether it is known to exist.
func (t *templates) use(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, known := t.used[name]
	if known {
		t.used[name] = t.options.Now()
	}
	return known
}

func (t *templates) create(ctx context.Context, name string, data *types.RequestLaunchTemplateData, tags map[string]string) error {
	_, err := client.Invoke(ctx, t.writes.CreateLaunchTemplate, &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: &name,
		LaunchTemplateData: data,
		TagSpecifications:  []types.TagSpecification{{ResourceType: types.ResourceTypeLaunchTemplate, Tags: tagList(tags)}},
	})
	if err != nil && call.Code(err) != "InvalidLaunchTemplateName.AlreadyExists" {
		return fmt.Errorf("create launch template %s: %w", name, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.used[name] = t.options.Now()
	return nil
}

// forget makes ensure create the templates again when they are next needed.
func (t *templates) forget(names ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range names {
		delete(t.used, name)
	}
}

// sweep deletes launch templates that have not been used for an hour. It does nothing during
// the first hour of the process, which does not know what an earlier process has used.
func (t *templates) sweep(ctx context.Context) error {
	now := t.options.Now()
	if now.Sub(t.started) < unusedFor {
		return nil
	}
	return t.remove(ctx, "sweep launch templates", nil, func(found *types.LaunchTemplate) bool {
		return t.claimUnused(awssdk.ToString(found.LaunchTemplateName), awssdk.ToTime(found.CreateTime), now)
	})
}

// removeOf deletes the launch templates of one Provisioner.
func (t *templates) removeOf(ctx context.Context, provisioner string) error {
	only := client.Filter("tag:"+api.LabelProvisioner, provisioner)
	return t.remove(ctx, "forget provisioner "+provisioner, []types.Filter{only}, func(found *types.LaunchTemplate) bool {
		t.forget(awssdk.ToString(found.LaunchTemplateName))
		return true
	})
}

// claim deletes the launch templates of other processes.
func (t *templates) claim(ctx context.Context) error {
	return t.remove(ctx, "claim the launches", nil, func(found *types.LaunchTemplate) bool {
		return !strings.HasPrefix(awssdk.ToString(found.LaunchTemplateName), t.prefix)
	})
}

// remove deletes the agent's launch templates that match the filters and are unwanted. The error
// begins with the purpose.
func (t *templates) remove(ctx context.Context, purpose string, filters []types.Filter, unwanted func(*types.LaunchTemplate) bool) error {
	in := &ec2.DescribeLaunchTemplatesInput{
		Filters: slices.Concat(t.options.ownedFilters(), []types.Filter{client.Filter("launch-template-name", templatePrefix+"*")}, filters),
	}
	var names []string
	err := client.EachPage(ctx, ec2.NewDescribeLaunchTemplatesPaginator(t.listings, in), func(page *ec2.DescribeLaunchTemplatesOutput) {
		for i := range page.LaunchTemplates {
			if found := &page.LaunchTemplates[i]; unwanted(found) {
				names = append(names, awssdk.ToString(found.LaunchTemplateName))
			}
		}
	})
	var errs []error
	if err != nil {
		errs = append(errs, fmt.Errorf("describe launch templates: %w", err))
	}
	for _, name := range names {
		_, err := client.Invoke(ctx, t.writes.DeleteLaunchTemplate, &ec2.DeleteLaunchTemplateInput{LaunchTemplateName: &name})
		if err != nil && !refusal.TemplateGone(call.Code(err)) {
			errs = append(errs, fmt.Errorf("delete launch template %s: %w", name, err))
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("%s: %w", purpose, errors.Join(errs...))
	}
	return nil
}

// claimUnused reports whether a template has not been used for an hour. If so, it also forgets
// it, so that a launch that needs the template creates it again.
func (t *templates) claimUnused(name string, created, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Sub(t.used[name]) < unusedFor || now.Sub(created) < unusedFor {
		return false
	}
	delete(t.used, name)
	return true
}

// Claim makes EC2 refuse fleet requests of other processes that may still be on their way, by
// deleting their launch templates. It cannot do so for requests with a launch template of the
// user's own; these are kept apart only by their launch ids. It waits until EKS has described the cluster.
func (c *Cloud) Claim(ctx context.Context) error {
	if _, err := c.cluster.Get(ctx); err != nil {
		return fmt.Errorf("claim the launches: %w", err)
	}
	return c.templates.claim(ctx)
}

// Sweep deletes launch templates that have not been used for an hour.
func (c *Cloud) Sweep(ctx context.Context) error { return c.templates.sweep(ctx) }

// Forget deletes the launch templates of a Provisioner that has no machines. A launch that
// needs one creates it again.
func (c *Cloud) Forget(ctx context.Context, provisioner string) error {
	return c.templates.removeOf(ctx, provisioner)
}
