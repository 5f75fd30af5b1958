package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

func podNamed(name string) cluster.ObjectRef {
	return cluster.ObjectRef{Kind: "Pod", Namespace: "default", Name: name, UID: name}
}

// TestEventsAreNotDropped has more events at a time than the recorder of client-go
// queues, and more about one object than it lets pass.
func TestEventsAreNotDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, names := &fake.Clientset{}, map[string]bool{}
		client.AddReactor("create", "events", func(action kubetesting.Action) (bool, runtime.Object, error) {
			event := action.(kubetesting.CreateAction).GetObject()
			names[event.(*corev1.Event).Name] = true
			return true, event, nil
		})
		e := newEvents(func(n int, err error) { t.Errorf("%d events were not written: %v", n, err) })
		for i := range 3000 {
			e.add(newEvent(podNamed(fmt.Sprintf("pod-%d", i)), corev1.EventTypeWarning, "Unplaceable", "it is too large"))
		}
		for i := range 100 {
			e.add(newEvent(podNamed("busy"), corev1.EventTypeNormal, fmt.Sprintf("Reason%d", i), "something happened"))
		}
		go e.run(t.Context(), client)
		synctest.Wait()
		if len(names) != 3100 {
			t.Errorf("%d events are there, want 3100", len(names))
		}
	})
}

// An event waits for an API server that does not answer; one that is refused is given up
// and told.
func TestEventsThatCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		var fail atomic.Pointer[apierrors.StatusError]
		fail.Store(apierrors.NewServiceUnavailable("starting"))
		client.PrependReactor("create", "events", func(kubetesting.Action) (bool, runtime.Object, error) {
			return fail.Load() != nil, nil, fail.Load()
		})
		lost, last := 0, error(nil)
		e := newEvents(func(n int, err error) { lost, last = lost+n, err })
		go e.run(t.Context(), client)
		e.add(newEvent(podNamed("web"), corev1.EventTypeNormal, "Nominated", "fits node a"))
		time.Sleep(45 * time.Second)
		fail.Store(nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := written(t, client); got != 1 || lost != 0 {
			t.Errorf("%d events are there, %d are lost (%v), want the one", got, lost, last)
		}
		fail.Store(apierrors.NewForbidden(corev1.Resource("events"), "", errors.New("no")))
		e.add(newEvent(podNamed("web"), corev1.EventTypeNormal, "Unplaceable", "it is too large"))
		time.Sleep(time.Second)
		synctest.Wait()
		if lost != 1 || !strings.Contains(fmt.Sprint(last), "write event Unplaceable of Pod web: ") {
			t.Errorf("%d events are lost, the last because of %v", lost, last)
		}
	})
}

// A webhook that fails holds up the events of its namespace, and no others.
func TestEventsOfOtherNamespacesGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		client.PrependReactor("create", "events", func(action kubetesting.Action) (bool, runtime.Object, error) {
			return action.GetNamespace() == "stuck", nil, apierrors.NewInternalError(errors.New("failed calling webhook"))
		})
		e := newEvents(nil)
		go e.run(t.Context(), client)
		stuck := func() {
			e.add(newEvent(cluster.ObjectRef{Kind: "Pod", Namespace: "stuck", Name: "web"}, corev1.EventTypeWarning, "Unplaceable", "it is too large"))
		}
		stuck()
		time.Sleep(time.Minute)
		for range queuedEvents + 10 { // more than the queue holds wait for the first
			stuck()
		}
		for i := range 100 {
			e.add(newEvent(podNamed(fmt.Sprintf("pod-%d", i)), corev1.EventTypeWarning, "Unplaceable", "it is too large"))
		}
		time.Sleep(time.Minute)
		if got := written(t, client); got != 100 {
			t.Errorf("%d events of the other namespace are there, want 100", got)
		}
	})
}

func written(t *testing.T, client *fake.Clientset) int {
	t.Helper()
	list, err := client.CoreV1().Events("").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return len(list.Items)
}

// The name of an event is that of its object and the time, and may not be longer than a name.
func TestNamesOfEvents(t *testing.T) {
	name := eventName(strings.Repeat("long.", 50), time.Now().UnixNano())
	if len(name) > longestName || strings.Contains(name, "..") {
		t.Errorf("%q is no name", name)
	}
}
