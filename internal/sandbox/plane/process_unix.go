//go:build unix && !linux

package plane

import "syscall"

// childAttributes gives a component a process group of its own, so that Ctrl-C
// reaches only the supervisor, which stops the components in order. Only Linux can
// also bind a child's life to its parent's.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
