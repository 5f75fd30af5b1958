package podcache

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/plane"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/plane/planetest"
)

// The tests share one real control plane, as an administrator.
var (
	adminConfig *rest.Config
	admin       kubernetes.Interface
)

func TestMain(m *testing.M) {
	os.Exit(planetest.Main(m, func(p *plane.Plane) error {
		adminConfig = p.RESTConfig()
		admin = kubernetes.NewForConfigOrDie(adminConfig)
		return wait.PollUntilContextTimeout(context.Background(), 50*time.Millisecond, planetest.Patience, true, func(ctx context.Context) (bool, error) {
			_, err := admin.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
			return err == nil, nil // pods are refused before
		})
	}))
}

// Old API servers do not stream lists, and some versions do so only if an administrator turns it on.
func TestPodsAreListedInPages(t *testing.T) {
	pods(t, 5)
	door := &door{refuseStreams: true}
	informer := door.run(t)
	sameAsLive(t, informer)
	if diff := cmp.Diff([]string{"page 1 of 2", "next page of 2", "next page of 2"}, door.lists()); diff != "" {
		t.Errorf("lists: -want +got\n%s", diff)
	}

	create(t, "later")
	remove(t, "pod-0")
	finish(t, "pod-1")
	sameAsLive(t, informer)
	if got := len(informer.GetStore().List()); got != 4 {
		t.Errorf("%d pods after one came, one went and one finished, want 4", got)
	}
}

func TestStreamedPodsAreNotListed(t *testing.T) {
	pods(t, 5)
	door := &door{}
	sameAsLive(t, door.run(t))
	if got := door.lists(); len(got) > 0 {
		t.Errorf("the API server streams lists, but was asked for %q", got)
	}
}

// All pages show the same state. The watch begins with what has changed since.
func TestChangesBetweenPagesAreSeen(t *testing.T) {
	pods(t, 5)
	door := &door{refuseStreams: true}
	door.nextPage = func(n int) *http.Response {
		if n == 1 {
			remove(t, "pod-0") // is on the first page
			label(t, "pod-1")  // is on the first page
			label(t, "pod-3")  // is on the second page
			remove(t, "pod-4") // is on the last page
			create(t, "pod-5")
		}
		return nil
	}
	sameAsLive(t, door.run(t))
}

func TestListBeginsAgainWhenItsPagesExpire(t *testing.T) {
	pods(t, 5)
	door := &door{refuseStreams: true}
	door.nextPage = func(n int) *http.Response {
		switch n {
		case 1, 3: // the second page, and then the third one
			return refusal(http.StatusGone, metav1.StatusReasonExpired)
		}
		return nil
	}
	sameAsLive(t, door.run(t))
	want := []string{
		"page 1 of 2", "next page of 2",
		"page 1 of 2", "next page of 2", "next page of 2",
		"page 1 of 2", "next page of 2", "next page of 2",
	}
	if diff := cmp.Diff(want, door.lists()); diff != "" {
		t.Errorf("lists: -want +got\n%s", diff)
	}
}

// After a long interruption, the API server no longer knows what has changed since.
func TestCacheIsFilledAgainWhenTheWatchExpires(t *testing.T) {
	for _, streams := range []bool{true, false} {
		t.Run(fmt.Sprintf("streams=%t", streams), func(t *testing.T) {
			pods(t, 5)
			expired := make(chan struct{})
			door := &door{refuseStreams: !streams, watch: func(n int) *http.Response {
				if n != 2 {
					return nil
				}
				defer close(expired)
				remove(t, "pod-0")
				label(t, "pod-1")
				create(t, "pod-5")
				return refusal(http.StatusGone, metav1.StatusReasonExpired)
			}}
			informer := door.run(t)
			sameAsLive(t, informer)
			door.breakWatches(t)
			planetest.Within(t, "the refusal of the second watch", expired)
			sameAsLive(t, informer)
			var want []string
			if !streams { // at first, after the watch was broken, and after it was refused
				want = slices.Repeat([]string{"page 1 of 2", "next page of 2", "next page of 2"}, 3)
			}
			if diff := cmp.Diff(want, door.lists()); diff != "" {
				t.Errorf("lists: -want +got\n%s", diff)
			}
		})
	}
}

func TestListEndsWithItsContext(t *testing.T) {
	pods(t, 5)
	ctx, cancel := context.WithCancel(t.Context())
	door := &door{nextPage: func(int) *http.Response {
		cancel()
		return nil
	}}
	if _, err := list(ctx, door.client(t).CoreV1().Pods(""), cluster.NewTemplates(), 2); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	if got := door.lists(); len(got) != 2 {
		t.Errorf("requests %q, want none after the context has ended", got)
	}
}

// door stands before the API server, and may respond in its place. It notes the requests.
type door struct {
	refuseStreams bool                       // as API servers do that do not stream lists
	nextPage      func(n int) *http.Response // of the n-th page that is not the first of a list
	watch         func(n int) *http.Response // of the n-th watch

	next    http.RoundTripper
	mu      sync.Mutex
	listed  []string
	nexts   int
	watches int
	open    []io.Closer // watches
}

func (d *door) client(t *testing.T) kubernetes.Interface {
	t.Helper()
	cfg := rest.CopyConfig(adminConfig)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		d.next = next
		return d
	})
	return kubernetes.NewForConfigOrDie(cfg)
}

// run runs an informer with pages of two pods.
func (d *door) run(t *testing.T) cache.SharedIndexInformer {
	t.Helper()
	templates := cluster.NewTemplates()
	informer := cache.NewSharedIndexInformer(source(d.client(t), templates, 2), &corev1.Pod{}, 0, cache.Indexers{})
	if err := informer.SetTransform(Transform(templates)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { informer.RunWithContext(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return informer
}

func (d *door) RoundTrip(r *http.Request) (*http.Response, error) {
	query := r.URL.Query()
	if query.Get("watch") == "" {
		if own := d.list(query); own != nil {
			return own, nil
		}
		return d.next.RoundTrip(r)
	}
	if query.Get("sendInitialEvents") != "" && d.refuseStreams {
		return refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid), nil
	}
	d.watches++
	if d.watch != nil {
		if own := d.watch(d.watches); own != nil {
			return own, nil
		}
	}
	response, err := d.next.RoundTrip(r)
	if err == nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.open = append(d.open, response.Body)
	}
	return response, err
}

func (d *door) list(query url.Values) *http.Response {
	d.mu.Lock()
	what := "page 1 of "
	if query.Get("continue") != "" {
		d.nexts++
		what = "next page of "
	}
	what += query.Get("limit")
	if version := query.Get("resourceVersion"); version != "" {
		what += " from version " + version
	}
	d.listed = append(d.listed, what)
	n := d.nexts
	d.mu.Unlock()
	if query.Get("continue") != "" && d.nextPage != nil {
		return d.nextPage(n)
	}
	return nil
}

func (d *door) lists() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.listed)
}

// breakWatches breaks the watch that there is, once there is one.
func (d *door) breakWatches(t *testing.T) {
	t.Helper()
	planetest.Eventually(t, "a watch has begun", func() error {
		d.mu.Lock()
		defer d.mu.Unlock()
		if len(d.open) == 0 {
			return errors.New("there is none")
		}
		for _, w := range d.open {
			_ = w.Close()
		}
		return nil
	})
}

func refusal(code int, reason metav1.StatusReason) *http.Response {
	body, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: string(reason),
	})
	if err != nil {
		panic(err)
	}
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(string(body)))}
}

// sameAsLive waits until the cache holds the API server's pods that have not finished, each in its newest version.
func sameAsLive(t *testing.T, informer cache.SharedIndexInformer) {
	t.Helper()
	planetest.Eventually(t, "the cache shows the pods as they are", func() error {
		live, err := admin.CoreV1().Pods(metav1.NamespaceAll).List(t.Context(), metav1.ListOptions{FieldSelector: running})
		if err != nil {
			return err
		}
		want, got := map[string]string{}, map[string]string{}
		for i := range live.Items {
			want[live.Items[i].Name] = live.Items[i].ResourceVersion
		}
		for _, item := range informer.GetStore().List() {
			p, ok := item.(*Pod)
			if !ok {
				t.Fatalf("the cache holds a %T", item)
			}
			got[p.Name] = p.Converted.Version
		}
		if diff := cmp.Diff(want, got); diff != "" || !informer.HasSynced() {
			return fmt.Errorf("versions: -want +got\n%s", diff)
		}
		return nil
	})
}

// pods creates pods from pod-0 on, and removes all pods after the test.
func pods(t *testing.T, n int) {
	t.Helper()
	t.Cleanup(func() {
		err := admin.CoreV1().Pods("default").DeleteCollection(context.WithoutCancel(t.Context()),
			metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}, metav1.ListOptions{})
		if err != nil {
			t.Error(err)
		}
	})
	for i := range n {
		create(t, fmt.Sprintf("pod-%d", i))
	}
}

func create(t *testing.T, name string) {
	t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Spec.SchedulerName = "none"
	p.Spec.Containers = []corev1.Container{{Name: "c", Image: "none"}}
	if _, err := admin.CoreV1().Pods("default").Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
}

func remove(t *testing.T, name string) {
	t.Helper()
	if err := admin.CoreV1().Pods("default").Delete(t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}); err != nil {
		t.Error(err)
	}
}

func label(t *testing.T, name string) {
	t.Helper()
	patch(t, name, `{"metadata":{"labels":{"changed":"yes"}}}`)
}

func finish(t *testing.T, name string) {
	t.Helper()
	patch(t, name, `{"status":{"phase":"Succeeded"}}`, "status")
}

func patch(t *testing.T, name, change string, subresources ...string) {
	t.Helper()
	_, err := admin.CoreV1().Pods("default").Patch(t.Context(), name, "application/merge-patch+json", []byte(change), metav1.PatchOptions{}, subresources...)
	if err != nil {
		t.Error(err)
	}
}
