package session

import "sync"

// Claims are the names of objects that the resources of one plan declare. They reveal two resources that
// declare the same name before these are applied. Terraform does not tell the provider which resource
// a request is for. The zero value is empty.
type Claims struct {
	mu     sync.Mutex
	claims map[claimed]claim
}

// claimed identifies an object by the title of its kind and its name.
type claimed struct{ title, name string }

type claim struct{ read, kept, created bool }

// Read notes that a resource has the object in its state.
func (c *Claims) Read(title, name string) { c.note(title, name, claim{read: true}) }

// Keep notes that a resource declares the object that is in its state. It reports whether another
// resource will create an object of the name.
func (c *Claims) Keep(title, name string) (twice bool) {
	return c.note(title, name, claim{kept: true}).created
}

// Create notes that a resource will create the object. It reports whether another resource declares it
// too, and whether a resource has it in its state, such as one that will be replaced.
func (c *Claims) Create(title, name string) (twice, known bool) {
	before := c.note(title, name, claim{created: true})
	return before.kept || before.created, before.read
}

// note adds to the claims of an object, and returns those before.
func (c *Claims) note(title, name string, added claim) claim {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.claims == nil {
		c.claims = map[claimed]claim{}
	}
	key := claimed{title, name}
	before := c.claims[key]
	c.claims[key] = claim{before.read || added.read, before.kept || added.kept, before.created || added.created}
	return before
}
