// Package image is the machine images of EC2: those that AWS and others publish for nodes of EKS,
// and the account's own.
package image

import (
	"maps"
	"slices"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
)

// Images are all that the account can use.
type Images struct {
	*account.Account

	all       []*Image
	published time.Time // by when the newest public images were there
	own       []*Image  // of the account

	deprecated map[string]time.Time // by id: what DeprecateImage has set
}

// New returns no images until Publish.
func New(a *account.Account) *Images { return &Images{Account: a, deprecated: map[string]time.Time{}} }

// Publish puts the public images for the cluster's version as of now, and the account's own,
// in the place of what was there.
func (i *Images) Publish() {
	i.published = i.Now()
	i.list()
}

func (i *Images) list() {
	i.all = slices.Concat(publicImages(i.Cluster.Version, i.published), i.own)
}

// AddTo registers the call that the images answer.
func (i *Images) AddTo(s *account.Service) { account.AddOnAnything(s, i, (*Images).describeImages) }

// PublishImages makes all publishers release new images, which their parameters
// name from now on. Those that were newest stay, the release before them goes.
func (i *Images) PublishImages() {
	i.Mu.Lock()
	defer i.Mu.Unlock()
	i.published = i.published.Add(imageGeneration)
	i.list()
}

// AddImage makes a private Linux image of the account, built from Amazon Linux
// 2023, and returns its id. arch is "x86_64" or "arm64".
func (i *Images) AddImage(name, arch string, tags map[string]string) (id string) {
	i.Mu.Lock()
	defer i.Mu.Unlock()
	im := &Image{
		ID: i.NewID("ami"), name: name, description: name, owner: i.AccountID, Arch: arch, created: i.Now(),
		RootDevice: "/dev/xvda", RootSizeGiB: 20, tags: maps.Clone(tags),
	}
	i.own = append(i.own, im)
	i.list()
	return im.ID
}

// ShareImage makes another account the owner of an image of AddImage, which that account shares. The
// tags are still those that the account of the model gives it.
func (i *Images) ShareImage(id, owner string) {
	i.Mu.Lock()
	defer i.Mu.Unlock()
	i.ByID(id).owner = owner
}

// DeprecateImage sets the time from which an image is deprecated.
func (i *Images) DeprecateImage(id string, from time.Time) {
	i.Mu.Lock()
	defer i.Mu.Unlock()
	i.deprecated[id] = from
}

// deprecation returns the time from which an image is deprecated. For a public image that is two years
// after its creation unless its owner says otherwise. It is zero if there is none.
func (i *Images) deprecation(im *Image) time.Time {
	if at, ok := i.deprecated[im.ID]; ok || im.owner == i.AccountID {
		return at
	}
	return im.created.AddDate(2, 0, 0)
}

// ByID returns nil if there is no such image.
func (i *Images) ByID(id string) *Image {
	for _, im := range i.all {
		if im.ID == id {
			return im
		}
	}
	return nil
}

// PublicParameters returns the SSM parameters that name the newest images.
func (i *Images) PublicParameters() map[string]string {
	parameters := map[string]string{}
	for _, im := range i.all {
		if im.parameter != "" {
			parameters[im.parameter] = im.ID
		}
	}
	return parameters
}
