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

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/client"
)

// templatePrefix begins the names of our launch templates.
const templatePrefix = "packhorse/"

// unusedFor is how long a launch template is kept after its last use.
const unusedFor = time.Hour

// templates creates launch templates as they are needed. Their names tell the process
// and, by a hash, the content.
type templates struct {
	listings, writes *client.EC2
	options          Options
	started          time.Time
	prefix           string // of the names of this process's templates

	mu   sync.Mutex
	used map[string]time.Time // by name: known to exist, and last used then
}

func newTemplates(listings, writes *client.EC2, o Options) *templates {
	return &templates{
		listings: listings, writes: writes, options: o, started: o.Now(), prefix: templatePrefix + rand.Text()[:12] + "/", used: map[string]time.Time{},
	}
}

// name is the same for the same content.
func (t *templates) name(data *types.RequestLaunchTemplateData) (string, error) {
	text, err := json.Marshal(data)
	if err != nil {
		return "", fmt.Errorf("hash launch template: %w", err)
	}
	sum := sha256.Sum256(text)
	return t.prefix + hex.EncodeToString(sum[:16]), nil
}

// ensure returns the name of the launch template with the content, which it
// creates if need be.
func (t *templates) ensure(ctx context.Context, data *types.RequestLaunchTemplateData, tags map[string]string) (string, error) {
	name, err := t.name(data)
	if err != nil {
		return "", err
	}
	t.mu.Lock()
	_, known := t.used[name]
	t.used[name] = t.options.Now()
	t.mu.Unlock()
	if known {
		return name, nil
	}
	_, err = client.Invoke(ctx, t.writes.CreateLaunchTemplate, &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: &name,
		LaunchTemplateData: data,
		TagSpecifications:  []types.TagSpecification{{ResourceType: types.ResourceTypeLaunchTemplate, Tags: tagList(tags)}},
	})
	if err != nil && errorCode(err) != "InvalidLaunchTemplateName.AlreadyExistsException" {
		t.forget(name)
		return "", fmt.Errorf("create launch template %s: %w", name, err)
	}
	return name, nil
}

// forget makes the templates be created again when they are next needed.
func (t *templates) forget(names ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range names {
		delete(t.used, name)
	}
}

// sweep deletes the launch templates that nothing has used for a while. Those of
// an earlier process count as used when this one began.
func (t *templates) sweep(ctx context.Context) error {
	now := t.options.Now()
	if now.Sub(t.started) < unusedFor {
		return nil
	}
	return t.remove(ctx, nil, func(found *types.LaunchTemplate) bool {
		return t.claimUnused(awssdk.ToString(found.LaunchTemplateName), awssdk.ToTime(found.CreateTime), now)
	})
}

// removeOf deletes the launch templates of one Provisioner.
func (t *templates) removeOf(ctx context.Context, provisioner string) error {
	only := client.Filter("tag:"+api.LabelProvisioner, provisioner)
	return t.remove(ctx, []types.Filter{only}, func(found *types.LaunchTemplate) bool {
		t.forget(awssdk.ToString(found.LaunchTemplateName))
		return true
	})
}

// claim deletes the launch templates of other processes.
func (t *templates) claim(ctx context.Context) error {
	return t.remove(ctx, nil, func(found *types.LaunchTemplate) bool {
		return !strings.HasPrefix(awssdk.ToString(found.LaunchTemplateName), t.prefix)
	})
}

// remove deletes those of our launch templates that the filters find and that
// are unwanted.
func (t *templates) remove(ctx context.Context, filters []types.Filter, unwanted func(*types.LaunchTemplate) bool) error {
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
		if err != nil && !isTemplateGone(errorCode(err)) {
			errs = append(errs, fmt.Errorf("delete launch template %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// claimUnused reports whether a template is not needed any more, and forgets it
// if so: a launch that needs it creates it again.
func (t *templates) claimUnused(name string, created, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Sub(t.used[name]) < unusedFor || now.Sub(created) < unusedFor {
		return false
	}
	delete(t.used, name)
	return true
}

// Claim makes EC2 refuse the orders of other processes that are still on their way:
// they name launch templates that do not exist any more. Only orders with a launch
// template of the user's own differ in their launch ids alone.
func (c *Cloud) Claim(ctx context.Context) error {
	if err := c.templates.claim(ctx); err != nil {
		return fmt.Errorf("claim the launches: %w", err)
	}
	return nil
}

// Sweep removes launch templates that nothing has used for an hour.
func (c *Cloud) Sweep(ctx context.Context) error {
	if err := c.templates.sweep(ctx); err != nil {
		return fmt.Errorf("sweep launch templates: %w", err)
	}
	return nil
}

// Forget removes the launch templates of a Provisioner that has no machines. A
// launch that needs one creates it again.
func (c *Cloud) Forget(ctx context.Context, provisioner string) error {
	if err := c.templates.removeOf(ctx, provisioner); err != nil {
		return fmt.Errorf("forget provisioner %s: %w", provisioner, err)
	}
	return nil
}
