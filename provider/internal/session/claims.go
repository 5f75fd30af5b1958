package session

import "sync"

// Claims are the names of objects that the resources of one plan declare, so that two
// resources with the same name are found before both are applied. Terraform does not
// tell the provider which resource asks. The zero value is empty.
type Claims struct {
	mu     sync.Mutex
	claims map[claimed]claim
}

// claimed is an object, by the title of its kind and its name.
type claimed struct{ title, name string }

type claim struct{ read, kept, created bool }

// Read notes that some resource has the object in its state.
func (c *Claims) Read(title, name string) { c.note(title, name, claim{read: true}) }

// Keep notes that a resource goes on to declare the object of its state. It reports
// whether another resource is about to create one of the name.
func (c *Claims) Keep(title, name string) (twice bool) {
	return c.note(title, name, claim{kept: true}).created
}

// Create notes that a resource is about to create the object. It reports whether
// another resource declares it too, and whether some resource has it in its state, as
// one has that is to be replaced.
func (c *Claims) Create(title, name string) (twice, known bool) {
	before := c.note(title, name, claim{created: true})
	return before.kept || before.created, before.read
}

// note returns what was known before.
func (c *Claims) note(title, name string, news claim) claim {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.claims == nil {
		c.claims = map[claimed]claim{}
	}
	key := claimed{title, name}
	before := c.claims[key]
	c.claims[key] = claim{before.read || news.read, before.kept || news.kept, before.created || news.created}
	return before
}
