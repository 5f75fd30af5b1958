package podrole_test

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/smithy-go/middleware"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/podrole"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/cloudtest"
)

const (
	trustPods    = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"pods.eks.amazonaws.com"},"Action":["sts:AssumeRole","sts:TagSession"]}]}`
	trustAccount = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"123456789012"},"Action":"sts:AssumeRole"}]}`
	readS3       = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:GetObject","Resource":"*"}]}`
	readEC2      = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"ec2:Describe*","Resource":"*"}]}`
	managedCNI   = "arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy"
	managedNode  = "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"
	boundary     = "arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess"
	roleARN      = "arn:aws:iam::123456789012:role/packhorse/app"
	issuer       = "https://oidc.eks.eu-west-1.amazonaws.com/id/ABC"
	providerARN  = "arn:aws:iam::123456789012:oidc-provider/oidc.eks.eu-west-1.amazonaws.com/id/ABC"
)

// keeper has what the package offers, with somebody's permissions.
type keeper struct {
	*podrole.Roles
	associations *podrole.Associations
}

// fixture is an account with an administrator's clients.
type fixture struct {
	keeper
	account *cloudtest.Account
	iam     *iam.Client
}

func start(t *testing.T) *fixture {
	t.Helper()
	return fixtureOf(cloudtest.Start(t))
}

func fixtureOf(account *cloudtest.Account) *fixture {
	return &fixture{keeperOf(account.Config), account, iam.NewFromConfig(account.Config)}
}

// startLagging is start with an IAM that shows late what has changed, by the clock.
func startLagging(t *testing.T, lag time.Duration) (*fixture, *clocktesting.FakeClock) {
	t.Helper()
	clock := clocktesting.NewFakeClock(time.Now())
	f := fixtureOf(cloudtest.Serve(t, cloud.Config{Now: clock.Now}))
	f.account.SetBehaviour(cloud.Behaviour{IAMLag: lag})
	return f, clock
}

func keeperOf(config aws.Config) keeper {
	return keeper{podrole.NewRoles(iam.NewFromConfig(config)), podrole.NewAssociations(eks.NewFromConfig(config))}
}

// without is for a role that may do everything but one action.
func (f *fixture) without(t *testing.T, action string) keeper {
	t.Helper()
	return keeperOf(f.account.Without(t, action))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// role is a declared role, with changes.
func role(change ...func(*asset.Role)) asset.Role {
	r := asset.Role{
		Name: "app", Path: "/packhorse/", Description: "Of the application", MaxSession: 7200, Trust: trustPods,
		Inline: map[string]string{"s3": readS3}, Attached: []string{managedCNI}, Tags: map[string]string{"team": "infra"},
	}
	for _, c := range change {
		c(&r)
	}
	return r
}

// make creates a role with its policies.
func (f *fixture) make(t *testing.T, r asset.Role) {
	t.Helper()
	_, err := f.Create(t.Context(), r)
	must(t, err)
	must(t, f.Update(t.Context(), bare(r), r))
}

// bare is a role as Create makes it: without policies.
func bare(r asset.Role) asset.Role {
	r.Inline, r.Attached = nil, nil
	return r
}

// made is an account in which the role is there.
func made(t *testing.T) *fixture {
	t.Helper()
	f := start(t)
	f.make(t, role())
	return f
}

func (f *fixture) wantRole(t *testing.T, want asset.Role) {
	t.Helper()
	live, _, err := f.Read(t.Context(), want.Name)
	must(t, err)
	if diff := cmp.Diff(want, live, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("role (-want +got):\n%s", diff)
	}
}

// giveByOthers gives the role policies and a tag that nobody declares.
func (f *fixture) giveByOthers(t *testing.T) {
	t.Helper()
	name := aws.String("app")
	_, err := f.iam.PutRolePolicy(t.Context(), &iam.PutRolePolicyInput{RoleName: name, PolicyName: aws.String("theirs"), PolicyDocument: aws.String(readEC2)})
	must(t, err)
	_, err = f.iam.AttachRolePolicy(t.Context(), &iam.AttachRolePolicyInput{RoleName: name, PolicyArn: aws.String(managedNode)})
	must(t, err)
	_, err = f.iam.TagRole(t.Context(), &iam.TagRoleInput{RoleName: name, Tags: []types.Tag{{Key: aws.String("owner"), Value: aws.String("somebody else")}}})
	must(t, err)
}

// A role that was just created is waited for until IAM and EKS know it.
func TestNewRoleIsWaitedFor(t *testing.T) {
	f := start(t)
	behaviour := f.account.Behaviour()
	behaviour.IAMLag = 300 * time.Millisecond
	f.account.SetBehaviour(behaviour)
	steps := map[string]func(asset.Role, string) error{
		"policies": func(r asset.Role, _ string) error { return f.Update(t.Context(), bare(r), r) },
		"its ARN": func(r asset.Role, arn string) error {
			found, err := f.ARN(t.Context(), r.Name)
			if err == nil && found != arn {
				t.Errorf("ARN = %s, want %s", found, arn)
			}
			return err
		},
		"an association": func(_ asset.Role, arn string) error {
			_, err := f.associations.Ensure(t.Context(), nil, association(arn))
			return err
		},
	}
	for what, step := range steps {
		t.Run(what, func(t *testing.T) {
			r := role(func(r *asset.Role) { r.Name = strings.ReplaceAll(what, " ", "-") })
			arn, err := f.Create(t.Context(), r)
			must(t, err)
			must(t, step(r, arn))
		})
	}
}

func TestRoleThatExistsIsNotTakenOver(t *testing.T) {
	f := made(t)
	other := role(func(r *asset.Role) { r.Description, r.Trust = "another", trustAccount })
	if _, err := f.Create(t.Context(), other); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), `"app"`) {
		t.Errorf("error = %v", err)
	}
	f.wantRole(t, role())
}

// The SDK repeats a call whose answer is lost. IAM then says of the role that it has just created that it exists.
func TestRoleWhoseCreationIsRepeatedIsTheOwn(t *testing.T) {
	other := role(func(r *asset.Role) { r.Trust = trustAccount })
	for name, tt := range map[string]struct {
		there *asset.Role // before
		fault string      // of the first attempt; none if its answer is lost
		own   bool
	}{
		"none was there":        {nil, "", true},
		"one that differs":      {&other, "", false},
		"one that has policies": {new(role()), "", false},
		"IAM only throttled":    {new(bare(role())), "Throttling", false},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			if tt.there != nil {
				f.make(t, *tt.there)
			}
			config := f.account.Config.Copy()
			if tt.fault == "" {
				config.HTTPClient = &losesAnswer{HTTPClient: config.HTTPClient}
			} else {
				f.account.Inject(cloud.Fault{Service: "iam", Action: "CreateRole", Code: tt.fault, Times: 1})
			}
			config.Retryer = func() aws.Retryer {
				return retry.NewStandard(func(o *retry.StandardOptions) { o.MaxBackoff = time.Millisecond })
			}
			arn, err := keeperOf(config).Create(t.Context(), role())
			if tt.own && (err != nil || arn != roleARN) || !tt.own && !errors.Is(err, fs.ErrExist) {
				t.Errorf("ARN %q, %v; want the own role: %t", arn, err, tt.own)
			}
		})
	}
}

// losesAnswer loses the answer of the first request.
type losesAnswer struct {
	aws.HTTPClient
	lost bool
}

func (l *losesAnswer) Do(r *http.Request) (*http.Response, error) {
	answer, err := l.HTTPClient.Do(r)
	if err != nil || l.lost {
		return answer, err
	}
	l.lost = true
	return nil, errors.Join(errors.New("connection reset by peer"), answer.Body.Close())
}

// An update changes what is declared and leaves the policies and tags of others alone.
func TestUpdate(t *testing.T) {
	bounded := role(func(r *asset.Role) { r.Boundary = boundary })
	tests := map[string]struct{ before, now asset.Role }{
		"nothing":         {role(), role()},
		"trust":           {role(), role(func(r *asset.Role) { r.Trust = trustAccount })},
		"a boundary":      {role(), bounded},
		"no boundary":     {bounded, role()},
		"settings":        {role(), role(func(r *asset.Role) { r.Description, r.MaxSession = "", 3600 })},
		"with a boundary": {bounded, bounded},
		"tags":            {role(), role(func(r *asset.Role) { r.Tags = map[string]string{"env": "test"} })},
		"a tag's case":    {role(), role(func(r *asset.Role) { r.Tags = map[string]string{"Team": "infra"} })},
		"no tags":         {role(), role(func(r *asset.Role) { r.Tags = nil })},
		"a policy":        {role(), role(func(r *asset.Role) { r.Inline = map[string]string{"s3": readEC2} })},
		"another policy":  {role(), role(func(r *asset.Role) { r.Inline = map[string]string{"ec2": readEC2} })},
		"no policies":     {role(), bare(role())},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			f.make(t, tt.before)
			f.giveByOthers(t)
			must(t, f.Update(t.Context(), tt.before, tt.now))
			want := tt.now
			want.Tags = map[string]string{"owner": "somebody else"}
			maps.Copy(want.Tags, tt.now.Tags)
			want.Inline = map[string]string{"theirs": readEC2}
			maps.Copy(want.Inline, tt.now.Inline)
			want.Attached = slices.Sorted(slices.Values(append([]string{managedNode}, tt.now.Attached...)))
			f.wantRole(t, want)
		})
	}
}

// withInline is a role with inline policies of these sizes, by name.
func withInline(sizes map[string]int) asset.Role {
	r := role(func(r *asset.Role) { r.Inline = map[string]string{} })
	for name, size := range sizes {
		r.Inline[name] = strings.Replace(readS3, `"*"`, `"arn:aws:s3:::`+strings.Repeat("x", size-len(readS3)-len("arn:aws:s3:::")+1)+`"`, 1)
	}
	return r
}

// IAM limits the policies of a role. New ones that fit replace old ones, although both do not fit together.
func TestPoliciesThatFitReplaceOthersThatDid(t *testing.T) {
	other := role(func(r *asset.Role) { r.Attached = []string{managedNode} })
	tests := map[string]struct{ before, now asset.Role }{
		"a policy under another name": {withInline(map[string]int{"a": 6000}), withInline(map[string]int{"b": 6000})},
		"one grows and one shrinks":   {withInline(map[string]int{"a": 1000, "b": 7000}), withInline(map[string]int{"a": 7000, "b": 1000})},
		"managed policies":            {role(), other},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			f.make(t, tt.before)
			f.account.Inject(cloud.Fault{Service: "iam", Action: "AttachRolePolicy", Code: "LimitExceeded", Times: 1})
			must(t, f.Update(t.Context(), tt.before, tt.now))
			f.wantRole(t, tt.now)
		})
	}
}

// If new policies do not fit beside those of others, pods keep what they have.
func TestPoliciesStayIfNewOnesDoNotFit(t *testing.T) {
	f := start(t)
	before, now := withInline(map[string]int{"a": 4000}), withInline(map[string]int{"b": 8000})
	f.make(t, before)
	others := withInline(map[string]int{"others": 5000}).Inline
	must(t, f.Update(t.Context(), asset.Role{Name: before.Name}, asset.Role{Name: before.Name, Inline: others}))
	if err := f.Update(t.Context(), before, now); err == nil || !strings.Contains(err.Error(), `put policy "b"`) {
		t.Errorf("error = %v, want one about the new policy", err)
	}
	maps.Copy(before.Inline, others)
	f.wantRole(t, before)
}

// An update that stops in the middle says where, and can be done again.
func TestUpdateThatStopsIsContinued(t *testing.T) {
	for action, step := range map[string]string{
		"iam:PutRolePolicy": `put policy "s3"`, "iam:AttachRolePolicy": "attach " + managedCNI,
		"iam:UpdateAssumeRolePolicy": "set its trust policy", "iam:TagRole": "tag it",
	} {
		t.Run(action, func(t *testing.T) {
			f := start(t)
			before := bare(role(func(r *asset.Role) { r.Trust, r.Tags = trustAccount, nil }))
			_, err := f.Create(t.Context(), before)
			must(t, err)
			err = f.without(t, action).Update(t.Context(), before, role())
			if err == nil || !strings.Contains(err.Error(), `update role "app": `+step) || !strings.Contains(err.Error(), action) {
				t.Errorf("error = %v, want it to name %q and %s", err, step, action)
			}
			must(t, f.Update(t.Context(), before, role()))
			f.wantRole(t, role())
		})
	}
}

// What is gone, or goes while it is read, is reported as such, and deleting it is fine.
func TestRoleThatIsGone(t *testing.T) {
	f := made(t)
	for _, action := range []string{"GetRole", "ListRolePolicies", "ListAttachedRolePolicies"} {
		f.account.Inject(cloud.Fault{Service: "iam", Action: action, Code: "NoSuchEntity", Times: 1})
		if _, _, err := f.Read(t.Context(), "app"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s finds no role: error = %v", action, err)
		}
	}
	f.account.Inject(cloud.Fault{Service: "iam", Action: "GetRolePolicy", Code: "NoSuchEntity", Times: 1})
	f.wantRole(t, role(func(r *asset.Role) { r.Inline = nil })) // the policy went, the role did not
	for range 2 {
		must(t, f.Delete(t.Context(), role()))
	}
	if _, _, err := f.Read(t.Context(), "app"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("deleted role: error = %v", err)
	}
}

// A role without some of its policies is deleted, also while IAM still sees those that
// were just removed.
func TestDeletionOfAnIncompleteRole(t *testing.T) {
	f := start(t)
	_, err := f.Create(t.Context(), role())
	must(t, err)
	f.account.Inject(cloud.Fault{Service: "iam", Action: "DeleteRole", Code: "DeleteConflict", Times: 2})
	must(t, f.Delete(t.Context(), role()))
	if _, _, err := f.Read(t.Context(), "app"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("deleted role: error = %v", err)
	}
}

func TestRoleThatOthersUseStays(t *testing.T) {
	f := made(t)
	f.giveByOthers(t)
	name := aws.String("app")
	_, err := f.iam.CreateInstanceProfile(t.Context(), &iam.CreateInstanceProfileInput{InstanceProfileName: name})
	must(t, err)
	_, err = f.iam.AddRoleToInstanceProfile(t.Context(), &iam.AddRoleToInstanceProfileInput{InstanceProfileName: name, RoleName: name})
	must(t, err)
	err = f.Delete(t.Context(), role())
	for _, part := range []string{`"app"`, "inline policies theirs;", "managed policies " + managedNode + ";", "instance profiles app,"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error = %v, want it to name %s", err, part)
		}
	}
	if live, _, err := f.Read(t.Context(), "app"); err != nil || live.Inline["theirs"] != readEC2 || !slices.Equal(live.Attached, []string{managedNode}) {
		t.Errorf("role that others use = %+v, %v", live, err)
	}
}

func TestListOfRolesIsOrdered(t *testing.T) {
	f := start(t)
	for _, name := range []string{"b", "c", "a"} {
		_, err := f.Create(t.Context(), asset.Role{Name: name, Path: "/listed/", Trust: trustPods, MaxSession: 3600})
		must(t, err)
	}
	all, err := f.List(t.Context())
	must(t, err)
	listed := slices.DeleteFunc(all, func(r asset.Role) bool { return r.Path != "/listed/" })
	want := []asset.Role{{Name: "a", Path: "/listed/", Trust: trustPods}, {Name: "b", Path: "/listed/", Trust: trustPods}, {Name: "c", Path: "/listed/", Trust: trustPods}}
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// trusting is a role that trusts the OIDC provider.
func trusting(name string) asset.Role {
	document := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Federated":"` + providerARN + `"},"Action":"sts:AssumeRoleWithWebIdentity"}]}`
	return role(func(r *asset.Role) { r.Name, r.Trust, r.Inline, r.Attached = name, document, nil, nil })
}

// provider is the declared OIDC provider of a role that creates it.
func provider() asset.OIDCProvider {
	return asset.OIDCProvider{Issuer: issuer, ARN: providerARN, Create: true}
}

// ensure makes sure that there is a provider for the role, and reports whether it was created.
func (f *fixture) ensure(t *testing.T, name string, create bool) (created bool) {
	t.Helper()
	wanted := provider()
	wanted.Create = create
	created, err := f.EnsureProvider(t.Context(), name, wanted)
	must(t, err)
	return created
}

// makeTrusting creates a role as Terraform does: the provider first.
func (f *fixture) makeTrusting(t *testing.T, name string, create bool) {
	t.Helper()
	f.ensure(t, name, create)
	_, err := f.Create(t.Context(), trusting(name))
	must(t, err)
}

// wantProvider checks whether IAM has the provider in the end.
func (f *fixture) wantProvider(t *testing.T, want bool, when string) {
	t.Helper()
	_, err := f.iam.GetOpenIDConnectProvider(t.Context(), &iam.GetOpenIDConnectProviderInput{OpenIDConnectProviderArn: aws.String(providerARN)})
	if got := err == nil; got != want {
		t.Errorf("%s: IAM has the provider: %t, want %t: %v", when, got, want, err)
	}
}

// An OIDC provider that was made for a role goes with the last role that trusts it, and one
// that somebody else has made stays. What becomes of a role that finds none and is not to
// make it, TestIRSARoleNeedsAnOIDCProvider says.
func TestProvider(t *testing.T) {
	f, ctx := start(t), t.Context()
	unseen := cloud.Fault{Service: "iam", Action: "GetOpenIDConnectProvider", Code: "NoSuchEntity", Times: 1}
	if !f.ensure(t, "app", true) {
		t.Error("none: it is not created")
	}
	if !f.ensure(t, "successor", true) {
		t.Error("made for another role: it is not created")
	}
	other := fixtureOf(f.account)
	if other.ensure(t, "successor", true) {
		t.Error("there already: it is created")
	}
	f.account.Inject(unseen)
	if other.ensure(t, "successor", true) {
		t.Error("made by somebody since the look: it is created")
	}
	f.account.Inject(unseen)
	if other.ensure(t, "successor", false) {
		t.Error("made by somebody who is waited for: it is created")
	}
	for _, name := range []string{"app", "successor"} {
		_, err := f.Create(ctx, trusting(name))
		must(t, err)
	}
	must(t, f.Delete(ctx, trusting("app")))
	must(t, f.DeleteProvider(ctx, providerARN, "app"))
	f.wantProvider(t, true, "a successor trusts it")
	for range 2 { // the role itself may still be listed
		must(t, f.DeleteProvider(ctx, providerARN, "successor"))
	}
	f.wantProvider(t, false, "only the role of the deletion trusts it")
	_, err := f.iam.CreateOpenIDConnectProvider(ctx, &iam.CreateOpenIDConnectProviderInput{Url: aws.String(issuer), ClientIDList: []string{policy.Audience}})
	must(t, err)
	must(t, f.DeleteProvider(ctx, providerARN, "successor"))
	f.wantProvider(t, true, "somebody else has made it")
}

// The OIDC provider goes with roles that are destroyed at the same time, and stays for one that is made again.
func TestProviderOfRolesThatGoTogether(t *testing.T) {
	f, ctx := start(t), t.Context()
	f.makeTrusting(t, "one", true)
	f.makeTrusting(t, "two", true)
	must(t, f.DeleteProvider(ctx, providerARN, "one"))
	f.wantProvider(t, true, "while one role stays")
	must(t, f.DeleteProvider(ctx, providerARN, "two"))
	f.wantProvider(t, false, "once both roles go")
	must(t, f.Delete(ctx, trusting("one")))
	f.makeTrusting(t, "one", true)
	must(t, f.DeleteProvider(ctx, providerARN, "two"))
	f.wantProvider(t, true, "a role is made again")
}

// A role that is created has its OIDC provider, whichever roles are destroyed at the same time, although IAM shows late what
// has changed.
func TestProviderOfARoleThatReplacesAnother(t *testing.T) {
	destroy := func(t *testing.T, f *fixture, name string) {
		t.Helper()
		must(t, f.DeleteProvider(t.Context(), providerARN, name))
		must(t, f.Delete(t.Context(), trusting(name)))
	}
	sequences := map[string]func(t *testing.T, f *fixture){
		"replaced": func(t *testing.T, f *fixture) {
			destroy(t, f, "old")
			f.makeTrusting(t, "new", true)
		},
		"create before destroy": func(t *testing.T, f *fixture) {
			f.makeTrusting(t, "new", true)
			destroy(t, f, "old")
		},
		"created without a provider of its own before destroy": func(t *testing.T, f *fixture) {
			f.makeTrusting(t, "new", false)
			destroy(t, f, "old")
		},
		"an unrelated role": func(t *testing.T, f *fixture) {
			f.ensure(t, "new", true)
			destroy(t, f, "old")
			_, err := f.Create(t.Context(), trusting("new"))
			must(t, err)
		},
	}
	for name, sequence := range sequences {
		t.Run(name, func(t *testing.T) {
			f, clock := startLagging(t, 5*time.Second)
			f.makeTrusting(t, "old", true)
			clock.Step(time.Minute)
			sequence(t, f)
			clock.Step(time.Minute)
			f.wantProvider(t, true, "the new role trusts it")
			must(t, f.DeleteProvider(t.Context(), providerARN, "new"))
			clock.Step(time.Minute)
			f.wantProvider(t, false, "the new role goes, too")
		})
	}
}

// A role that could not be created keeps no OIDC provider.
func TestProviderOfARoleThatFails(t *testing.T) {
	f, ctx := start(t), t.Context()
	f.makeTrusting(t, "one", true)
	f.make(t, role())
	f.ensure(t, "app", true)
	if _, err := f.Create(ctx, trusting("app")); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("error = %v, want that the role exists", err)
	}
	must(t, f.DeleteProvider(ctx, providerARN, "one"))
	f.wantProvider(t, false, "no role trusts it")
}

// Roles that fail at the same time leave no OIDC provider, whichever of them it was created for.
func TestProviderOfRolesThatFailTogether(t *testing.T) {
	f := start(t)
	created, names := map[string]bool{}, []string{"one", "two"}
	for _, name := range names {
		f.make(t, role(func(r *asset.Role) { r.Name = name }))
		created[name] = f.ensure(t, name, true)
	}
	for _, name := range names {
		if _, err := f.Create(t.Context(), trusting(name)); !errors.Is(err, fs.ErrExist) {
			t.Fatalf("error = %v, want that the role exists", err)
		}
		if created[name] {
			must(t, f.DeleteProvider(t.Context(), providerARN, name))
		}
	}
	f.wantProvider(t, false, "no role trusts it")
}

// Roles that come and go at the same time leave an OIDC provider if one of them stays.
func TestProviderOfRolesThatComeAndGo(t *testing.T) {
	f := start(t)
	for range 20 {
		f.makeTrusting(t, "old", true)
		failed := make(chan error)
		go func() { failed <- f.DeleteProvider(t.Context(), providerARN, "old") }()
		f.makeTrusting(t, "new", true)
		must(t, <-failed)
		f.wantProvider(t, true, "a role has just been made")
		for _, name := range []string{"old", "new"} {
			must(t, f.DeleteProvider(t.Context(), providerARN, name))
			must(t, f.Delete(t.Context(), trusting(name)))
		}
	}
}

// association is a declared association of a role.
func association(arn string) asset.Association {
	return asset.Association{Cluster: "prod", Account: policy.ServiceAccount{Namespace: "web", Name: "app"}, Role: arn, Tags: map[string]string{"team": "infra"}}
}

func TestAssociation(t *testing.T) {
	f, ctx := made(t), t.Context()
	wanted := association(roleARN)
	if id, err := f.associations.Find(ctx, wanted); id != "" || err != nil {
		t.Errorf("none: id %q, %v", id, err)
	}
	id, err := f.associations.Ensure(ctx, nil, wanted)
	must(t, err)
	if found, err := f.associations.Find(ctx, wanted); found != id || id == "" || err != nil {
		t.Errorf("found %q, %v, want %q", found, err, id)
	}
	retagged := wanted
	retagged.Tags = map[string]string{"env": "test"}
	if again, err := f.associations.Ensure(ctx, wanted.Tags, retagged); again != id || err != nil {
		t.Errorf("second time: %q, %v, want %q", again, err, id)
	}
	live, err := eks.NewFromConfig(f.account.Config).DescribePodIdentityAssociation(ctx, &eks.DescribePodIdentityAssociationInput{ClusterName: aws.String("prod"), AssociationId: &id})
	must(t, err)
	if diff := cmp.Diff(retagged.Tags, live.Association.Tags); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	for range 2 {
		must(t, f.associations.Delete(ctx, wanted))
	}
	if id, err := f.associations.Find(ctx, wanted); id != "" || err != nil {
		t.Errorf("deleted: id %q, %v", id, err)
	}
	elsewhere := wanted
	elsewhere.Cluster = "gone"
	must(t, f.associations.Delete(ctx, elsewhere))
}

// Pods keep the role that somebody has given them.
func TestAssociationOfOthersStays(t *testing.T) {
	f, ctx := made(t), t.Context()
	f.make(t, role(func(r *asset.Role) { r.Name = "other" }))
	theirs := association("arn:aws:iam::123456789012:role/packhorse/other")
	id, err := f.associations.Ensure(ctx, nil, theirs)
	must(t, err)
	_, err = f.associations.Ensure(ctx, nil, association(roleARN))
	for _, part := range []string{"web/app", theirs.Role, id} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error = %v, want it to name %s", err, part)
		}
	}
	must(t, f.associations.Delete(ctx, association(roleARN)))
	if found, err := f.associations.Find(ctx, theirs); found != id || err != nil {
		t.Errorf("association of others = %q, %v, want %q", found, err, id)
	}
}

// EKS may spread an answer over pages, also with a first page that has nothing.
func TestAssociationOnALaterPage(t *testing.T) {
	f, ctx := made(t), t.Context()
	id, err := f.associations.Ensure(ctx, nil, association(roleARN))
	must(t, err)
	config := f.account.Config.Copy()
	config.APIOptions = []func(*middleware.Stack) error{func(stack *middleware.Stack) error {
		outermost := stack.Initialize //nolint:misspell // the name of the SDK
		return outermost.Add(middleware.InitializeMiddlewareFunc("page", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
			out middleware.InitializeOutput, metadata middleware.Metadata, err error,
		) {
			list, ok := in.Parameters.(*eks.ListPodIdentityAssociationsInput)
			if ok && list.NextToken == nil {
				out.Result = &eks.ListPodIdentityAssociationsOutput{NextToken: aws.String("second")}
				return out, metadata, nil
			}
			if ok {
				whole := *list
				whole.NextToken = nil
				in.Parameters = &whole
			}
			return next.HandleInitialize(ctx, in)
		}), middleware.Before)
	}}
	paged := keeperOf(config)
	if found, err := paged.associations.Find(ctx, association(roleARN)); found != id || err != nil {
		t.Errorf("found %q, %v, want %q", found, err, id)
	}
	if found, err := paged.associations.Ensure(ctx, nil, association(roleARN)); found != id || err != nil {
		t.Errorf("ensured %q, %v, want %q", found, err, id)
	}
}

// A provider with another audience refuses the tokens of pods, so that a role must not be made for it.
func TestProviderLacksTheAudience(t *testing.T) {
	f := start(t)
	url := issuer
	_, err := iam.NewFromConfig(f.account.Config).CreateOpenIDConnectProvider(t.Context(), &iam.CreateOpenIDConnectProviderInput{
		Url: &url, ClientIDList: []string{"sts.amazonaws.com.cn"},
	})
	must(t, err)
	for i, create := range []bool{true, false, true} {
		if i == 2 { // somebody has made it since the look
			f.account.Inject(cloud.Fault{Service: "iam", Action: "GetOpenIDConnectProvider", Code: "NoSuchEntity", Times: 1})
		}
		wanted := provider()
		wanted.Create = create
		created, err := f.EnsureProvider(t.Context(), "app", wanted)
		if created || err == nil || !strings.Contains(err.Error(), `lacks the audience sts.amazonaws.com, and has ["sts.amazonaws.com.cn"]`) {
			t.Errorf("create %t: created = %t, error %v", create, created, err)
		}
	}
}

// A permission that is missing is named, together with what was to be done.
func TestMissingPermissionIsNamed(t *testing.T) {
	create := func(k keeper) error {
		_, err := k.Create(t.Context(), role(func(r *asset.Role) { r.Name = "new" }))
		return err
	}
	read := func(k keeper) error { _, _, err := k.Read(t.Context(), "app"); return err }
	remove := func(k keeper) error { return k.Delete(t.Context(), role()) }
	update := func(k keeper) error {
		return k.Update(t.Context(), role(), bare(role(func(r *asset.Role) { r.Description, r.Tags = "", nil })))
	}
	trust := func(k keeper) error {
		_, err := k.EnsureProvider(t.Context(), "app", asset.OIDCProvider{Issuer: issuer + "2", ARN: providerARN + "2", Create: true})
		return err
	}
	associate := func(k keeper) error {
		a := association(roleARN)
		a.Account.Name = "new"
		_, err := k.associations.Ensure(t.Context(), nil, a)
		return err
	}
	retag := func(k keeper) error {
		a := association(roleARN)
		a.Tags = map[string]string{"env": "test"}
		_, err := k.associations.Ensure(t.Context(), association("").Tags, a)
		return err
	}
	tests := map[string]struct {
		act func(keeper) error
		of  string
	}{
		"iam:CreateRole":                     {create, `create role "new"`},
		"iam:GetRole":                        {read, `read role "app"`},
		"iam:ListRolePolicies":               {read, `list the inline policies of role "app"`},
		"iam:GetRolePolicy":                  {read, `read policy "s3" of role "app"`},
		"iam:ListAttachedRolePolicies":       {read, `list the managed policies of role "app"`},
		"iam:UpdateRole":                     {update, `update role "app"`},
		"iam:UntagRole":                      {update, `update role "app": untag it`},
		"iam:DeleteRolePolicy":               {remove, `delete role "app": delete policy "s3"`},
		"iam:DetachRolePolicy":               {remove, `delete role "app": detach ` + managedCNI},
		"iam:DeleteRole":                     {remove, `delete role "app"`},
		"iam:ListRoles":                      {func(k keeper) error { _, err := k.List(t.Context()); return err }, "list roles"},
		"iam:GetOpenIDConnectProvider":       {trust, "read OIDC provider " + providerARN},
		"iam:CreateOpenIDConnectProvider":    {trust, "create OIDC provider for " + issuer},
		"iam:DeleteOpenIDConnectProvider":    {func(k keeper) error { return k.DeleteProvider(t.Context(), providerARN, "app") }, "delete OIDC provider " + providerARN},
		"eks:ListPodIdentityAssociations":    {associate, "ServiceAccount web/new"},
		"eks:CreatePodIdentityAssociation":   {associate, "create the pod identity association of ServiceAccount web/new"},
		"iam:PassRole":                       {associate, "create the pod identity association of ServiceAccount web/new"},
		"eks:DescribePodIdentityAssociation": {retag, "ServiceAccount web/app"},
		"eks:TagResource":                    {retag, "tag pod identity association "},
		"eks:UntagResource":                  {retag, "untag pod identity association "},
		"eks:DeletePodIdentityAssociation":   {func(k keeper) error { return k.associations.Delete(t.Context(), association(roleARN)) }, "delete the pod identity association of ServiceAccount web/app"},
	}
	for action, tt := range tests {
		t.Run(action, func(t *testing.T) {
			f := made(t)
			f.ensure(t, "app", true)
			_, err := f.associations.Ensure(t.Context(), nil, association(roleARN))
			must(t, err)
			err = tt.act(f.without(t, action))
			if err == nil || !strings.Contains(err.Error(), tt.of) || !strings.Contains(err.Error(), "is not authorized to perform: "+action) {
				t.Errorf("error = %v, want it to name %s and %s", err, tt.of, action)
			}
		})
	}
}

// The policies that the guide for the Terraform runner prints suffice for an association, also for a change of its tags.
func TestPermissionsOfTheGuide(t *testing.T) {
	f := start(t)
	documents := map[string]string{}
	for _, name := range []string{"policy.json", "pod-identity.json"} {
		text, err := os.ReadFile("../../../examples/guides/runner/" + name)
		must(t, err)
		documents[name] = string(text)
	}
	runner := keeperOf(f.account.As(t, "runner", documents))
	app := role(func(r *asset.Role) { r.Name, r.Path = "prod-app", "/" })
	_, err := runner.Create(t.Context(), app)
	must(t, err)
	wanted := association("arn:aws:iam::123456789012:role/prod-app")
	wanted.Tags = map[string]string{"team": "a", "stage": "test"}
	_, err = runner.associations.Ensure(t.Context(), nil, wanted)
	must(t, err)
	before := wanted.Tags
	wanted.Tags = map[string]string{"team": "b"}
	_, err = runner.associations.Ensure(t.Context(), before, wanted)
	must(t, err)
	must(t, runner.associations.Delete(t.Context(), wanted))
}
