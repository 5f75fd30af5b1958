package session_test

import (
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

func TestClaims(t *testing.T) {
	for name, c := range map[string]struct {
		plan         func(*session.Claims) (twice, known bool)
		twice, known bool
	}{
		"one new object": {plan: func(c *session.Claims) (bool, bool) { return c.Create("provisioner", "a") }},
		"two new ones": {func(c *session.Claims) (bool, bool) {
			c.Create("provisioner", "a")
			return c.Create("provisioner", "a")
		}, true, false},
		"one of another kind": {plan: func(c *session.Claims) (bool, bool) {
			c.Create("node profile", "a")
			return c.Create("provisioner", "a")
		}},
		"a copy of one that is there": {func(c *session.Claims) (bool, bool) {
			c.Read("provisioner", "a")
			c.Keep("provisioner", "a")
			return c.Create("provisioner", "a")
		}, true, true},
		"a copy that is planned first": {func(c *session.Claims) (bool, bool) {
			c.Create("provisioner", "a")
			return c.Keep("provisioner", "a"), false
		}, true, false},
		"one that is replaced": {func(c *session.Claims) (bool, bool) {
			c.Read("provisioner", "a")
			return c.Create("provisioner", "a")
		}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			if twice, known := c.plan(&session.Claims{}); twice != c.twice || known != c.known {
				t.Errorf("twice %t, known %t, want %t, %t", twice, known, c.twice, c.known)
			}
		})
	}
}
