// Command demo shows Packhorse's main job from nothing, on one machine: a real
// control plane and AWS endpoints on loopback, `terraform apply`, an agent that
// buys nodes for pending pods, packs them together when work shrinks and removes them
// again, `terraform destroy`.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	keep := flag.Bool("keep", false, "leave everything running at the end, and print how to look around")
	boot := flag.Duration("boot-delay", 3*time.Second, "how long a machine takes from launch to its kubelet")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "demo plays Packhorse's main job in a sandbox on this machine.\n\nflags:")
		flag.PrintDefaults()
	}
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	story := newStory(os.Stdout)
	err := play(ctx, story, *keep, *boot)
	interrupted := ctx.Err() != nil
	stop()
	switch {
	case interrupted && err != nil:
		story.say("interrupted; everything is stopped and removed")
		os.Exit(130)
	case err != nil:
		story.fail(err)
		os.Exit(1)
	}
}
