package launch

import "time"

// pause is how long nothing is bought for a Provisioner after a launch that broke.
type pause struct {
	until    time.Time
	failures int
	message  string
}

// fail pauses a Provisioner after a launch that broke: 5 s, doubled each time, up
// to 2 min.
func (b *Buyer) fail(provisioner, message string) {
	p := b.pauses[provisioner]
	p.failures++
	p.until = time.Now().Add(min(5*time.Second<<min(p.failures-1, 10), 2*time.Minute))
	p.message = message
	b.pauses[provisioner] = p
}

// Paused returns until when and why a Provisioner is paused; an empty message
// means that it is not.
func (b *Buyer) Paused(provisioner string) (time.Time, string) {
	p, ok := b.pauses[provisioner]
	if !ok || !time.Now().Before(p.until) {
		return time.Time{}, ""
	}
	return p.until, p.message
}

// Retrying says why the last launch for a Provisioner broke which is being tried again.
func (b *Buyer) Retrying(provisioner string) string {
	if !b.open.contain(func(p *purchase) bool { return p.order.Provisioner == provisioner }) {
		return ""
	}
	return b.pauses[provisioner].message
}

// Resumes returns when pauses end.
func (b *Buyer) Resumes() (at []time.Time) {
	for _, p := range b.pauses {
		at = append(at, p.until)
	}
	return at
}
