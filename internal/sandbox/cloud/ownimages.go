package cloud

import (
	"maps"
	"slices"
)

// listImages puts the public images and the account's own together.
func (c *Cloud) listImages() {
	c.images = slices.Concat(publicImages(c.cluster.Version, c.published), c.own)
}

// PublishImages makes all publishers release new images, which their parameters
// name from now on. Those that were newest stay, the release before them goes.
func (c *Cloud) PublishImages() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.published = c.published.Add(imageGeneration)
	c.listImages()
}

// AddImage makes a private Linux image of the account, built from Amazon Linux
// 2023, and returns its id. arch is "x86_64" or "arm64".
func (c *Cloud) AddImage(name, arch string, tags map[string]string) (id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	im := &image{
		id: c.newID("ami"), name: name, description: name, owner: c.account, arch: arch, created: c.now(),
		rootDevice: "/dev/xvda", rootSizeGiB: 20, tags: maps.Clone(tags),
	}
	c.own = append(c.own, im)
	c.listImages()
	return im.id
}
