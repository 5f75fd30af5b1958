package ec2

import (
	"maps"
	"slices"
)

// listImages puts the public images and the account's own together.
func (c *EC2) listImages() {
	c.images = slices.Concat(publicImages(c.Cluster.Version, c.published), c.own)
}

// PublishImages makes all publishers release new images, which their parameters
// name from now on. Those that were newest stay, the release before them goes.
func (c *EC2) PublishImages() {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.published = c.published.Add(imageGeneration)
	c.listImages()
}

// AddImage makes a private Linux image of the account, built from Amazon Linux
// 2023, and returns its id. arch is "x86_64" or "arm64".
func (c *EC2) AddImage(name, arch string, tags map[string]string) (id string) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	im := &Image{
		id: c.NewID("ami"), name: name, description: name, owner: c.AccountID, arch: arch, created: c.Now(),
		rootDevice: "/dev/xvda", rootSizeGiB: 20, tags: maps.Clone(tags),
	}
	c.own = append(c.own, im)
	c.listImages()
	return im.id
}
