//go:build !linux

package fence

import "time"

func steady() time.Duration { return sinceStart() }
