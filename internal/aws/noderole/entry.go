package noderole

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/call"
)

// Error codes of EKS.
const (
	codeInUse = "ResourceInUse"
	// codeInvalid means, among much else, that the cluster's authentication mode is CONFIG_MAP.
	codeInvalid = "InvalidRequest"
)

// Entries manages access entries of EKS clusters.
type Entries struct{ client *eks.Client }

// NewEntries manages the access entries of the clusters that the client reaches.
func NewEntries(client *eks.Client) *Entries { return &Entries{client} }

// Create creates the entry. If the principal has an entry already, the error is fs.ErrExist.
// Create waits until EKS knows a new role; before that, EKS calls the principal invalid.
func (e *Entries) Create(ctx context.Context, entry asset.Entry) error {
	unknownRole := func(err error) bool { return call.Code(err) == call.InvalidParameter && call.Says(err, "principal") }
	err := call.Change(ctx, unknownRole, e.client.CreateAccessEntry, &eks.CreateAccessEntryInput{
		ClusterName: aws.String(entry.Cluster), PrincipalArn: aws.String(entry.Principal), Type: aws.String(entry.Type), Tags: entry.Tags,
	})
	if call.Code(err) == codeInUse {
		return fmt.Errorf("create the access entry of %s in cluster %q: %w", entry.Principal, entry.Cluster, fs.ErrExist)
	}
	return call.Explain(fmt.Sprintf("create the access entry of %s in cluster %q", entry.Principal, entry.Cluster), err)
}

// isAbsent reports whether there is no such entry: because there is none, no such cluster, or
// the cluster reads only the aws-auth ConfigMap.
func isAbsent(err error) bool { return call.IsMissing(err) || hasNoEntries(err) }

// hasNoEntries reports whether the cluster reads only the aws-auth ConfigMap.
func hasNoEntries(err error) bool {
	return call.Code(err) == codeInvalid && call.Says(err, "authentication mode")
}

// Read returns the entry of a principal. If there is no such entry, no such cluster, or the
// cluster reads only the aws-auth ConfigMap, the error is fs.ErrNotExist.
func (e *Entries) Read(ctx context.Context, cluster, principal string) (asset.Entry, error) {
	live, _, err := e.read(ctx, cluster, principal)
	return live, err
}

func (e *Entries) read(ctx context.Context, cluster, principal string) (live asset.Entry, arn string, err error) {
	out, err := e.client.DescribeAccessEntry(ctx, &eks.DescribeAccessEntryInput{ClusterName: aws.String(cluster), PrincipalArn: aws.String(principal)})
	if isAbsent(err) {
		return asset.Entry{}, "", fmt.Errorf("read the access entry of %s in cluster %q: %w", principal, cluster, fs.ErrNotExist)
	}
	if err != nil {
		return asset.Entry{}, "", fmt.Errorf("read the access entry of %s in cluster %q: %w", principal, cluster, err)
	}
	return asset.Entry{Cluster: cluster, Principal: principal, Type: aws.ToString(out.AccessEntry.Type), Tags: out.AccessEntry.Tags}, aws.ToString(out.AccessEntry.AccessEntryArn), nil
}

// Update changes the tags of an entry from the declaration before to the declaration now.
// Nothing else about an entry can change.
func (e *Entries) Update(ctx context.Context, before, now asset.Entry) error {
	if maps.Equal(before.Tags, now.Tags) {
		return nil
	}
	_, arn, err := e.read(ctx, now.Cluster, now.Principal)
	if err != nil {
		return err
	}
	return call.Retag(call.Tagging{What: "access entry " + arn, Before: before.Tags, Now: now.Tags}, func() error {
		return call.Change(ctx, nil, e.client.TagResource, &eks.TagResourceInput{ResourceArn: aws.String(arn), Tags: now.Tags})
	}, func(keys []string) error {
		return call.Change(ctx, nil, e.client.UntagResource, &eks.UntagResourceInput{ResourceArn: aws.String(arn), TagKeys: keys})
	})
}

// Delete deletes the entry. It succeeds if there is no such entry.
func (e *Entries) Delete(ctx context.Context, cluster, principal string) error {
	err := call.Change(ctx, nil, e.client.DeleteAccessEntry, &eks.DeleteAccessEntryInput{ClusterName: aws.String(cluster), PrincipalArn: aws.String(principal)})
	if isAbsent(err) {
		return nil
	}
	return call.Explain(fmt.Sprintf("delete the access entry of %s in cluster %q", principal, cluster), err)
}

// List returns the entries of a cluster that have one of the types, sorted by principal. It
// returns none if the cluster reads only the aws-auth ConfigMap.
func (e *Entries) List(ctx context.Context, cluster string, kinds ...string) ([]asset.Entry, error) {
	var principals []string
	pages := eks.NewListAccessEntriesPaginator(e.client, &eks.ListAccessEntriesInput{ClusterName: aws.String(cluster)})
	err := call.EachPage(ctx, call.ReadTimeout, pages, func(page *eks.ListAccessEntriesOutput) {
		principals = append(principals, page.AccessEntries...)
	})
	if hasNoEntries(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the access entries of cluster %q: %w", cluster, err)
	}
	slices.Sort(principals)
	var out []asset.Entry
	for _, principal := range principals {
		entry, err := e.Read(ctx, cluster, principal)
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted since it was listed
		}
		if err != nil {
			return nil, err
		}
		if slices.Contains(kinds, entry.Type) {
			out = append(out, entry)
		}
	}
	return out, nil
}
