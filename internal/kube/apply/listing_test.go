package apply

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

var (
	things    = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}
	thingKind = api.CustomKind{Name: "Thing", Resource: things}
)

// recording is a store of things on an API that counts what it is asked.
func recording(t *testing.T, names ...string) (store *Store, api *fake.FakeDynamicClient, verbs func() []string) {
	t.Helper()
	var objects []runtime.Object
	for _, name := range names {
		thing := &unstructured.Unstructured{}
		thing.SetGroupVersionKind(things.GroupVersion().WithKind("Thing"))
		thing.SetName(name)
		objects = append(objects, thing)
	}
	api = fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{things: "ThingList"}, objects...)
	store = NewStore(api, thingKind, Manager{Name: "m"}).With(&Listing{})
	return store, api, func() (out []string) {
		for _, action := range api.Actions() {
			out = append(out, action.GetVerb())
		}
		return out
	}
}

func TestReadsShareOneList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, _, verbs := recording(t, "a", "b", "c")
		for _, name := range []string{"a", "b", "c", "a"} {
			if live, err := store.Recall(t.Context(), name); err != nil || live.GetName() != name {
				t.Fatalf("%s = %v, %v", name, live, err)
			}
		}
		if _, err := store.Recall(t.Context(), "missing"); !apierrors.IsNotFound(err) {
			t.Errorf("missing: %v", err)
		}
		if diff := cmp.Diff([]string{"list"}, verbs()); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		time.Sleep(listingAge + time.Second)
		if _, err := store.Recall(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"list", "list"}, verbs()); diff != "" {
			t.Errorf("requests after a while (-want +got):\n%s", diff)
		}
	})
}

func TestWhatWasWrittenIsReadAnew(t *testing.T) {
	store, _, verbs := recording(t, "a", "b")
	if _, err := store.Recall(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if err := store.Delete(t.Context(), "a", "", "Background"); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Recall(t.Context(), "a"); !apierrors.IsNotFound(err) {
		t.Errorf("a deleted object is still known: %v", err)
	}
	if _, err := store.Recall(t.Context(), "b"); err != nil {
		t.Errorf("the others are not known any more: %v", err)
	}
	if diff := cmp.Diff([]string{"list", "delete", "get"}, verbs()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestWithoutTheRightToListEachIsRead(t *testing.T) {
	store, api, verbs := recording(t, "a")
	api.PrependReactor("list", "things", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(things.GroupResource(), "", errors.New("no"))
	})
	if _, err := store.Recall(context.Background(), "a"); err != nil {
		t.Errorf("read: %v", err)
	}
	if diff := cmp.Diff([]string{"list", "get"}, verbs()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// Another client may have created an object since the list was taken. It must not be overwritten.
func TestCreateDoesNotTrustAnOldList(t *testing.T) {
	store, api, _ := recording(t)
	if _, err := store.Recall(t.Context(), "new"); !apierrors.IsNotFound(err) {
		t.Fatalf("error = %v, want that it is not there", err)
	}
	api.PrependReactor("patch", "things", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, declaredBy("m"), nil
	})
	if err := api.Tracker().Create(things, declaredBy("m"), ""); err != nil {
		t.Fatal(err)
	}
	if err := store.Create(t.Context(), "new", nil); !apierrors.IsAlreadyExists(err) {
		t.Errorf("error = %v, want that it exists", err)
	}
}
