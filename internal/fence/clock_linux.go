package fence

import (
	"time"

	"golang.org/x/sys/unix"
)

// steady reads CLOCK_BOOTTIME. Go's own monotonic time stands still while the machine
// is suspended.
func steady() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return sinceStart() // before Linux 2.6.39
	}
	return time.Duration(t.Nano())
}
