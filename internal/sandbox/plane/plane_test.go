package plane

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
)

// testConfig describes a control plane for which the token "let-me-in" is an
// administrator's, and "auditor" and "other" are those of users without groups.
func testConfig(t *testing.T) Config {
	t.Helper()
	binary, err := FindBinary("")
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Dir:    t.TempDir(),
		Binary: binary,
		Authenticate: func(_ context.Context, token string) (string, []string, error) {
			switch token {
			case "auditor", "other":
				return token, nil, nil
			case "let-me-in":
			default:
				return "", nil, errors.New("unknown token")
			}
			return "arn:aws:iam::111122223333:role/admin", []string{groupMasters}, nil
		},
		Progress: func(step string, took time.Duration) { t.Logf("%s (%s)", step, took.Round(time.Millisecond)) },
		Logger:   hclog.New(&hclog.LoggerOptions{Output: io.Discard}),
	}
}

func startPlane(t *testing.T, config Config) *Plane {
	t.Helper()
	plane, err := Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			t.Error(err)
		}
	})
	return plane
}

func TestPlane(t *testing.T) {
	config := testConfig(t)
	config.AuditUser = "auditor"
	plane := startPlane(t, config)
	client, err := kubernetes.NewForConfig(plane.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}

	t.Run("a pod runs on a node that kwok plays", func(t *testing.T) { testPodRuns(t, client) })

	t.Run("a deleted pod stays for its grace period", func(t *testing.T) { testGracePeriod(t, client) })

	t.Run("anybody may read the issuer's keys", func(t *testing.T) {
		anonymous, err := rest.HTTPClientFor(&rest.Config{Host: plane.Host, TLSClientConfig: rest.TLSClientConfig{CAData: plane.CA}})
		if err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]int{
			"/.well-known/openid-configuration": http.StatusOK,
			"/openid/v1/jwks":                   http.StatusOK,
			"/api/v1/nodes":                     http.StatusForbidden,
		} {
			response, err := anonymous.Get(plane.Host + path)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if response.StatusCode != want {
				t.Errorf("GET %s = %d, want %d", path, response.StatusCode, want)
			}
		}
	})

	t.Run("bearer tokens are authenticated by the webhook", func(t *testing.T) {
		for token, allowed := range map[string]bool{"let-me-in": true, "guess": false} {
			config := rest.AnonymousClientConfig(plane.RESTConfig())
			config.BearerToken = token
			bearer, err := kubernetes.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			_, err = bearer.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
			if allowed && err != nil {
				t.Errorf("token %q: %v", token, err)
			}
			if !allowed && !apierrors.IsUnauthorized(err) {
				t.Errorf("token %q: error = %v, want 401", token, err)
			}
		}
	})

	t.Run("requests of one user are noted, with what allowed them", func(t *testing.T) { testAudit(t, plane, client) })

	t.Run("a component that dies is reported with its log", func(t *testing.T) {
		for _, p := range plane.supervisor.processes {
			if p.name == "kwok" {
				if err := p.command.Process.Signal(syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			}
		}
		select {
		case <-plane.Died():
		case <-time.After(10 * time.Second):
			t.Fatal("the death of kwok was not noticed")
		}
		if err := plane.Err(); !strings.HasPrefix(err.Error(), "kwok stopped: signal: killed") {
			t.Errorf("Err() = %v, want kwok's death", err)
		}
	})
}

func testPodRuns(t *testing.T, client kubernetes.Interface) {
	size := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("4Gi"), corev1.ResourcePods: resource.MustParse("10"),
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node-a", Labels: map[string]string{KubeletLabel: KubeletLabelValue}},
		Status: corev1.NodeStatus{
			Capacity: size, Allocatable: size,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}},
		},
	}
	if _, err := client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pod-a"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/main"}}},
	}
	if _, err := client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(startTimeout)
	for {
		pod, err := client.CoreV1().Pods("default").Get(t.Context(), "pod-a", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if pod.Status.Phase == corev1.PodRunning {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("pod is %s on %q at last, want Running", pod.Status.Phase, pod.Spec.NodeName)
		}
		time.Sleep(pollInterval)
	}
}

// testGracePeriod deletes the pod of testPodRuns, which ends at its deletion
// timestamp and not before.
func testGracePeriod(t *testing.T, client kubernetes.Interface) {
	pods := client.CoreV1().Pods("default")
	if err := pods.Delete(t.Context(), "pod-a", metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](2)}); err != nil {
		t.Fatal(err)
	}
	var end time.Time
	for deadline := time.Now().Add(startTimeout); ; time.Sleep(pollInterval) {
		pod, err := pods.Get(t.Context(), "pod-a", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		end = pod.DeletionTimestamp.Time
		if time.Now().After(deadline) {
			t.Fatal("the pod is still there")
		}
	}
	if early := time.Until(end); early > 0 {
		t.Errorf("the pod went %s before the end of its grace period", early)
	}
}

func TestStartNamesTheComponentThatFailed(t *testing.T) {
	held, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	config := testConfig(t)
	config.Port = held.Addr().(*net.TCPAddr).Port

	plane, err := Start(t.Context(), config)
	if err == nil {
		t.Fatal("Start succeeded on a port that is in use", plane.Stop())
	}
	if !errors.Is(err, errPortTaken) || !strings.HasPrefix(err.Error(), "kube-apiserver stopped: port already in use") {
		t.Errorf("error = %v, want the API server's", err)
	}
}

func TestFindBinary(t *testing.T) {
	root := t.TempDir()
	nested := filepath.Join(root, "internal", "deep")
	built := filepath.Join(root, "bin", "controlplane")
	elsewhere := filepath.Join(root, "elsewhere")
	for _, folder := range []string{nested, filepath.Dir(built)} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{built, elsewhere} {
		if err := os.WriteFile(file, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	outside := t.TempDir()

	tests := map[string]struct {
		given, variable, folder string
		want                    string // empty: an error
	}{
		"given wins":                 {given: elsewhere, variable: built, folder: nested, want: elsewhere},
		"environment":                {variable: elsewhere, folder: nested, want: elsewhere},
		"in a folder above":          {folder: nested, want: built},
		"given does not exist":       {given: elsewhere + "-not", folder: nested},
		"environment does not exist": {variable: elsewhere + "-not", folder: nested},
		"nowhere":                    {folder: outside},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv(BinaryVariable, test.variable)
			t.Chdir(test.folder)
			got, err := FindBinary(test.given)
			if test.want == "" {
				if err == nil || !strings.Contains(err.Error(), "make controlplane") {
					t.Fatalf("FindBinary = %q, %v, want an error that names `make controlplane`", got, err)
				}
				return
			}
			if err != nil || got != test.want {
				t.Errorf("FindBinary = %q, %v, want %q", got, err, test.want)
			}
		})
	}
}
