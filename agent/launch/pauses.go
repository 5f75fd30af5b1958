package launch

import "time"

// After a launch that broke, nothing is bought for its Provisioner for 5 s, then for twice as long each time, up to
// 2 min.
const (
	firstPause   = 5 * time.Second
	longestPause = 2 * time.Minute
)

// fail pauses a Provisioner after a launch that broke.
func (b *Buyer) fail(provisioner, message string) {
	b.pauses.Failed(provisioner)
	b.broke[provisioner] = message
}

// Paused returns until when and why a Provisioner is paused; an empty message
// means that it is not.
func (b *Buyer) Paused(provisioner string) (time.Time, string) {
	if b.pauses.Due(provisioner) {
		return time.Time{}, ""
	}
	return b.pauses.Next(provisioner), b.broke[provisioner]
}

// Retrying says why the last launch for a Provisioner broke which is being tried again.
func (b *Buyer) Retrying(provisioner string) string {
	if !b.open.contain(func(p *purchase) bool { return p.order.Provisioner == provisioner }) {
		return ""
	}
	return b.broke[provisioner]
}

// Resumes returns when pauses end.
func (b *Buyer) Resumes() []time.Time { return b.pauses.Resumes(func(string) bool { return true }) }
