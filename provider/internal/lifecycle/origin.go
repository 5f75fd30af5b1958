package lifecycle

import (
	"path"
	"strings"
)

// IsProvider reports whether the address of the provider that a state is moved from has the
// given namespace and name. OpenTofu before 1.11.12 and 1.12.4 gives the name alone
// (https://github.com/opentofu/opentofu/issues/4352).
func IsProvider(address, source string) bool {
	return address == path.Base(source) || strings.HasSuffix(address, "/"+source)
}
