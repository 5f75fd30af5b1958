// Package browser looks at the agent's status page as people do: in a real browser,
// in light and dark, on a desk and on a phone, with and without scripts. It is a
// module of its own so that the product does not depend on what drives a browser.
package browser
