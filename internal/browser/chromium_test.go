package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience bounds what a browser does in one test.
const patience = 10 * time.Minute

// chromium finds the browser.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("no chromium in $CHROMIUM or $PATH: `apt-get install chromium`, or see `make browser-test`")
	return ""
}

// browser starts one with a profile of its own, which goes with it: the folder
// belongs to the browser, as its processes write to it until the last of them is gone.
func browser(t *testing.T) context.Context {
	t.Helper()
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(chromium(t)),
		chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true), chromedp.Flag("hide-scrollbars", true),
		chromedp.WSURLReadTimeout(time.Minute),
	}
	// The test's own context ends before its cleanup, which lets the browser end.
	limited, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	t.Cleanup(cancel)
	allocated, cancel := chromedp.NewExecAllocator(limited, options...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(allocated)
	t.Cleanup(cancel)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Logf("the browser did not end in order: %v", err)
		}
	})
	return ctx
}

// complaints collects what the browser reports about a page: errors of scripts and
// what its policy forbids.
func complaints(ctx context.Context) *[]string {
	var out []string
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *log.EventEntryAdded:
			if e.Entry.Level == log.LevelError && !strings.Contains(e.Entry.URL, "favicon") {
				out = append(out, e.Entry.Text)
			}
		case *runtime.EventExceptionThrown:
			out = append(out, e.ExceptionDetails.Error())
		}
	})
	return &out
}

// view is how a page is looked at.
type view struct {
	name, scheme string
	width        int64
	phone        bool
}

var views = []view{
	{"light", "light", 1280, false},
	{"dark", "dark", 1280, false},
	{"phone-light", "light", 390, true},
	{"phone-dark", "dark", 390, true},
}

// look opens a page in the view's way.
func (v view) look(url string) chromedp.Tasks {
	height, density := int64(900), 1.0
	if v.phone {
		height, density = 844, 2
	}
	return chromedp.Tasks{
		log.Enable(), runtime.Enable(),
		emulation.SetDeviceMetricsOverride(v.width, height, density, v.phone),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: v.scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}),
		chromedp.Navigate(url),
		chromedp.WaitReady("footer"),
	}
}

// picture keeps a screenshot of the whole page.
func picture(t *testing.T, name string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		shot, err := page.CaptureScreenshot().WithCaptureBeyondViewport(true).Do(ctx)
		if err != nil {
			return fmt.Errorf("take the picture %s: %w", name, err)
		}
		return keep(t, name+".png", shot)
	})
}

// keep writes an artefact of the build.
func keep(t *testing.T, name string, content []byte) error {
	t.Helper()
	dir := filepath.Join("..", "..", "bin", "screenshots")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name), content, 0o644)
}
