package noderole_test

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/google/go-cmp/cmp"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/noderole"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/cloudtest"
)

// lag is for how long a modelled account does not know what it has just created.
const lag = 300 * time.Millisecond

// keeper has what the package offers, with somebody's permissions.
type keeper struct {
	*noderole.Profiles
	entries *noderole.Entries
}

// fixture is an account with an administrator's clients.
type fixture struct {
	keeper
	account *cloudtest.Account
	iam     *iam.Client
	eks     *eks.Client
}

func start(t *testing.T) *fixture {
	t.Helper()
	account := cloudtest.Start(t)
	return &fixture{keeperOf(account.Config), account, iam.NewFromConfig(account.Config), eks.NewFromConfig(account.Config)}
}

func keeperOf(config aws.Config) keeper {
	return keeper{noderole.NewProfiles(iam.NewFromConfig(config)), noderole.NewEntries(eks.NewFromConfig(config))}
}

// role makes a role that the account may assume, and returns its ARN.
func (f *fixture) role(t *testing.T, name string) string {
	t.Helper()
	out, err := f.iam.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: aws.String(
		`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"123456789012"},"Action":"sts:AssumeRole"}]}`)})
	must(t, err)
	return *out.Role.Arn
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

func (f *fixture) wantProfile(t *testing.T, want asset.Profile) {
	t.Helper()
	live, _, err := f.Read(t.Context(), want.Name)
	must(t, err)
	if diff := cmp.Diff(want, live); diff != "" {
		t.Errorf("profile (-want +got):\n%s", diff)
	}
}

// profile is a declared instance profile of a role.
func profile(role string) asset.Profile {
	return asset.Profile{Name: "machines", Path: "/packhorse/", Role: role, Tags: map[string]string{"team": "infra"}}
}

// entry is a declared access entry of a role.
func entry(principal string) asset.Entry {
	return asset.Entry{Cluster: "prod", Principal: principal, Type: "EC2_LINUX", Tags: map[string]string{"team": "infra"}}
}

// A role, the profile that gets it and the principal that a cluster admits are waited
// for until AWS knows them.
func TestWhatWasJustCreatedIsWaitedFor(t *testing.T) {
	f, ctx := start(t), t.Context()
	behaviour := f.account.Behaviour()
	behaviour.IAMLag = lag
	f.account.SetBehaviour(behaviour)

	arn := f.role(t, "node")
	must(t, f.entries.Create(ctx, entry(arn)))
	f.role(t, "node-2")
	_, err := f.Create(ctx, profile("node-2"))
	must(t, err)
	f.wantProfile(t, profile("node-2"))
	live, err := f.entries.Read(ctx, "prod", arn)
	must(t, err)
	if diff := cmp.Diff(entry(arn), live); diff != "" {
		t.Errorf("entry (-want +got):\n%s", diff)
	}
}

func TestWhatExistsIsNotTakenOver(t *testing.T) {
	f, ctx := start(t), t.Context()
	arn := f.role(t, "node")
	f.role(t, "other")
	_, err := f.Create(ctx, profile("node"))
	must(t, err)
	must(t, f.entries.Create(ctx, entry(arn)))

	if _, err := f.Create(ctx, profile("other")); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), `"machines"`) {
		t.Errorf("second profile: error = %v", err)
	}
	if err := f.entries.Create(ctx, entry(arn)); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), arn) {
		t.Errorf("second entry: error = %v", err)
	}
	f.wantProfile(t, profile("node"))
}

// A profile without its role is named with its ARN, is read as it is, and an update
// completes it.
func TestProfileThatWasLeftWithoutItsRole(t *testing.T) {
	for _, action := range []string{"iam:AddRoleToInstanceProfile", "iam:PassRole"} {
		t.Run(action, func(t *testing.T) {
			f := start(t)
			f.role(t, "node")
			arn, err := f.without(t, action).Create(t.Context(), profile("node"))
			if err == nil || arn != "arn:aws:iam::123456789012:instance-profile/packhorse/machines" ||
				!strings.Contains(err.Error(), `add role "node" to instance profile "machines"`) || !strings.Contains(err.Error(), action) {
				t.Fatalf("ARN %q, error = %v", arn, err)
			}
			f.wantProfile(t, profile(""))
			must(t, f.Update(t.Context(), profile(""), profile("node")))
			f.wantProfile(t, profile("node"))
		})
	}
}

// An update leaves tags alone that it does not declare.
func TestUpdate(t *testing.T) {
	tagged := func(p asset.Profile, tags map[string]string) asset.Profile { p.Tags = tags; return p }
	tests := map[string]struct {
		now  asset.Profile
		tags map[string]string
	}{
		"another role":  {profile("other"), map[string]string{"team": "infra"}},
		"a tag's value": {tagged(profile("node"), map[string]string{"team": "web"}), map[string]string{"team": "web"}},
		"another tag":   {tagged(profile("node"), map[string]string{"env": "test"}), map[string]string{"env": "test"}},
		"all tags go":   {tagged(profile("node"), nil), map[string]string{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f, ctx := start(t), t.Context()
			arn := f.role(t, "node")
			f.role(t, "other")
			_, err := f.Create(ctx, profile("node"))
			must(t, err)
			must(t, f.entries.Create(ctx, entry(arn)))
			_, err = f.iam.TagInstanceProfile(ctx, &iam.TagInstanceProfileInput{
				InstanceProfileName: aws.String("machines"), Tags: []types.Tag{{Key: aws.String("owner"), Value: aws.String("somebody else")}},
			})
			must(t, err)
			described, err := f.eks.DescribeAccessEntry(ctx, &eks.DescribeAccessEntryInput{ClusterName: aws.String("prod"), PrincipalArn: &arn})
			must(t, err)
			_, err = f.eks.TagResource(ctx, &eks.TagResourceInput{ResourceArn: described.AccessEntry.AccessEntryArn, Tags: map[string]string{"owner": "somebody else"}})
			must(t, err)

			must(t, f.Update(ctx, profile("node"), tt.now))
			tt.tags["owner"] = "somebody else"
			f.wantProfile(t, tagged(tt.now, tt.tags))
			now := entry(arn)
			now.Tags = tt.now.Tags
			must(t, f.entries.Update(ctx, entry(arn), now))
			live, err := f.entries.Read(ctx, "prod", arn)
			must(t, err)
			if diff := cmp.Diff(tt.tags, live.Tags); diff != "" {
				t.Errorf("tags of the entry (-want +got):\n%s", diff)
			}
		})
	}
}

// What is gone is reported as such, and deleting it is fine.
func TestWhatIsGone(t *testing.T) {
	f, ctx := start(t), t.Context()
	arn := f.role(t, "node")
	_, err := f.Create(ctx, profile("node"))
	must(t, err)
	must(t, f.entries.Create(ctx, entry(arn)))
	_, err = f.iam.RemoveRoleFromInstanceProfile(ctx, &iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: aws.String("machines"), RoleName: aws.String("node")})
	must(t, err)
	for range 2 {
		must(t, f.Delete(ctx, profile("node")))
		must(t, f.entries.Delete(ctx, "prod", arn))
	}
	reads := map[string]func() error{
		"a profile":             func() error { _, _, err := f.Read(ctx, "machines"); return err },
		"profiles of no role":   func() error { _, err := f.Holding(ctx, "nobody"); return err },
		"an entry":              func() error { _, err := f.entries.Read(ctx, "prod", arn); return err },
		"an entry's cluster":    func() error { _, err := f.entries.Read(ctx, "test", arn); return err },
		"an entry to be tagged": func() error { return f.entries.Update(ctx, asset.Entry{}, entry(arn)) },
	}
	for what, read := range reads {
		if err := read(); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: error = %v, want that it does not exist", what, err)
		}
	}
}

// configMapOnly is what EKS says about access entries of a cluster that reads only the aws-auth ConfigMap.
const configMapOnly = "The cluster's authentication mode must be set to one of [API, API_AND_CONFIG_MAP] to perform this operation."

// A cluster that reads only the aws-auth ConfigMap has no entries.
func TestEntryOfAClusterWithoutEntries(t *testing.T) {
	f, ctx := start(t), t.Context()
	for _, action := range []string{"DescribeAccessEntry", "DeleteAccessEntry"} {
		f.account.Inject(cloud.Fault{Service: "eks", Action: action, Code: "InvalidRequestException", Message: configMapOnly})
	}
	arn := f.role(t, "node")
	if _, err := f.entries.Read(ctx, "prod", arn); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error = %v, want that it does not exist", err)
	}
	must(t, f.entries.Delete(ctx, "prod", arn))
}

// EKS calls other requests invalid too, which says nothing about the entry.
func TestEntryOfARequestThatEKSCallsInvalid(t *testing.T) {
	f, ctx := start(t), t.Context()
	for _, action := range []string{"DescribeAccessEntry", "DeleteAccessEntry", "ListAccessEntries"} {
		f.account.Inject(cloud.Fault{Service: "eks", Action: action, Code: "InvalidRequestException"})
	}
	arn := f.role(t, "node")
	if _, err := f.entries.Read(ctx, "prod", arn); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("read: error = %v, want the one of EKS", err)
	}
	if err := f.entries.Delete(ctx, "prod", arn); err == nil {
		t.Error("the deletion succeeds")
	}
	if list, err := f.entries.List(ctx, "prod", "EC2_LINUX"); err == nil {
		t.Errorf("entries = %v, want an error", list)
	}
}

// IAM refuses for a moment to delete a profile whose role was just removed.
func TestDeletionWaitsForTheRoleToBeRemoved(t *testing.T) {
	f := start(t)
	f.role(t, "node")
	_, err := f.Create(t.Context(), profile("node"))
	must(t, err)
	f.account.Inject(cloud.Fault{Service: "iam", Action: "DeleteInstanceProfile", Code: "DeleteConflict", Times: 2})
	must(t, f.Delete(t.Context(), profile("node")))
	if _, _, err := f.Read(t.Context(), "machines"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("deleted profile: error = %v", err)
	}
}

func TestProfilesOfARoleAreOrdered(t *testing.T) {
	f := start(t)
	f.role(t, "node")
	for _, name := range []string{"b", "c", "a"} {
		p := profile("node")
		p.Name = name
		_, err := f.Create(t.Context(), p)
		must(t, err)
	}
	names, err := f.Holding(t.Context(), "node")
	must(t, err)
	if !slices.Equal(names, []string{"a", "b", "c"}) {
		t.Errorf("profiles = %v", names)
	}
}

func TestListOfEntries(t *testing.T) {
	tests := map[string]struct {
		fault cloud.Fault
		kinds []string
		want  []string
	}{
		"of some types":        {kinds: []string{"EC2_LINUX", "EC2_WINDOWS"}, want: []string{"linux", "packhorse-node", "windows"}},
		"of one type":          {kinds: []string{"EC2_WINDOWS"}, want: []string{"windows"}},
		"deleted since listed": {cloud.Fault{Action: "DescribeAccessEntry", Code: "ResourceNotFoundException", Times: 1}, []string{"EC2_LINUX", "EC2_WINDOWS"}, []string{"packhorse-node", "windows"}},
		"without entries":      {cloud.Fault{Action: "ListAccessEntries", Code: "InvalidRequestException", Message: configMapOnly}, []string{"EC2_LINUX"}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			for role, kind := range map[string]string{"windows": "EC2_WINDOWS", "linux": "EC2_LINUX", "people": "STANDARD"} {
				e := entry(f.role(t, role))
				e.Type = kind
				must(t, f.entries.Create(t.Context(), e))
			}
			if tt.fault.Code != "" {
				f.account.Inject(tt.fault)
			}
			list, err := f.entries.List(t.Context(), "prod", tt.kinds...)
			must(t, err)
			var got []string
			for _, e := range list {
				got = append(got, strings.TrimPrefix(e.Principal, "arn:aws:iam::123456789012:role/"))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("entries = %v, want %v", got, tt.want)
			}
		})
	}
}

// A permission that is missing is named, together with what was to be done.
func TestMissingPermissionIsNamed(t *testing.T) {
	const arn = "arn:aws:iam::123456789012:role/node"
	retagged, changed := profile("node"), entry(arn)
	retagged.Tags, changed.Tags = map[string]string{"env": "test"}, map[string]string{"env": "test"}
	update := func(k keeper) error { return k.Update(t.Context(), profile("node"), retagged) }
	remove := func(k keeper) error { return k.Delete(t.Context(), profile("node")) }
	list := func(k keeper) error { _, err := k.entries.List(t.Context(), "prod", "EC2_LINUX"); return err }
	tag := func(k keeper) error { return k.entries.Update(t.Context(), entry(arn), changed) }
	tests := map[string]struct {
		act func(keeper) error
		of  string
	}{
		"iam:CreateInstanceProfile": {func(k keeper) error {
			_, err := k.Create(t.Context(), asset.Profile{Name: "new", Path: "/", Role: "node"})
			return err
		}, `create instance profile "new"`},
		"iam:GetInstanceProfile":            {func(k keeper) error { _, _, err := k.Read(t.Context(), "machines"); return err }, `read instance profile "machines"`},
		"iam:ListInstanceProfilesForRole":   {func(k keeper) error { _, err := k.Holding(t.Context(), "node"); return err }, `instance profiles of role "node"`},
		"iam:TagInstanceProfile":            {update, `tag instance profile "machines"`},
		"iam:UntagInstanceProfile":          {update, `tag instance profile "machines"`},
		"iam:RemoveRoleFromInstanceProfile": {remove, `remove role "node" from instance profile "machines"`},
		"iam:DeleteInstanceProfile":         {remove, `delete instance profile "machines"`},
		"eks:CreateAccessEntry":             {func(k keeper) error { return k.entries.Create(t.Context(), entry(arn)) }, "create the access entry of " + arn},
		"eks:DescribeAccessEntry":           {list, "read the access entry of "},
		"eks:ListAccessEntries":             {list, `list the access entries of cluster "prod"`},
		"eks:TagResource":                   {tag, "tag access entry "},
		"eks:UntagResource":                 {tag, "untag access entry "},
		"eks:DeleteAccessEntry":             {func(k keeper) error { return k.entries.Delete(t.Context(), "prod", arn) }, "delete the access entry of " + arn},
	}
	for action, tt := range tests {
		t.Run(action, func(t *testing.T) {
			f := start(t)
			f.role(t, "node")
			_, err := f.Create(t.Context(), profile("node"))
			must(t, err)
			must(t, f.entries.Create(t.Context(), entry(arn)))
			err = tt.act(f.without(t, action))
			if err == nil || !strings.Contains(err.Error(), tt.of) || !strings.Contains(err.Error(), "is not authorized to perform: "+action) {
				t.Errorf("error = %v, want it to name %s and %s", err, tt.of, action)
			}
		})
	}
}
