package plane

import "syscall"

// childAttributes gives a component a process group of its own, so that Ctrl-C
// reaches only the supervisor, which stops the components in order; and has the
// kernel kill it when the supervisor dies. The data is thrown away, so there is
// nothing to be gentle about.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
