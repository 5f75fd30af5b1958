package e2e

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/stage"
)

// checkSecrets looks through the logs of a scene's agents for their tokens and
// their AWS credentials.
func checkSecrets(t *testing.T, sb *sandbox.Sandbox) {
	t.Helper()
	secrets, logs := sb.Cloud.Secrets(), map[string]string{}
	err := filepath.WalkDir(filepath.Join(sb.Dir, "stage"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name := entry.Name()
		if name != "log" && name != "token" && name != "kube.token" {
			return nil
		}
		text, err := os.ReadFile(path)
		if name == "log" {
			logs[path] = string(text)
		} else {
			_, signature, _ := strings.Cut(string(text), ".") // the rest of it is the same in all
			secrets = append(secrets, signature)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	for path, text := range logs {
		for _, secret := range secrets {
			if secret == "" || strings.Contains(text, secret) {
				t.Errorf("%s holds a secret, or a secret is empty", filepath.Base(filepath.Dir(path)))
			}
		}
	}
}

// wantRestricted tries pods in the agent's namespace that Kubernetes' restricted Pod
// Security Standard forbids: only the agent's own kind gets in.
func (s *installed) wantRestricted() {
	s.t.Helper()
	deployment, err := s.Kube.AppsV1().Deployments(stage.Namespace).Get(s.t.Context(), stage.ServiceAccount, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*corev1.PodSpec)
		want   string
	}{
		"as rendered": {func(*corev1.PodSpec) {}, ""},
		"as root": {func(p *corev1.PodSpec) {
			p.SecurityContext.RunAsNonRoot, p.SecurityContext.RunAsUser = nil, ptr.To[int64](0)
		}, "runAsNonRoot != true"},
		"without seccomp":       {func(p *corev1.PodSpec) { p.SecurityContext.SeccompProfile = nil }, "seccompProfile"},
		"with capabilities":     {func(p *corev1.PodSpec) { p.Containers[0].SecurityContext.Capabilities = nil }, "unrestricted capabilities"},
		"escalating":            {func(p *corev1.PodSpec) { p.Containers[0].SecurityContext.AllowPrivilegeEscalation = nil }, "allowPrivilegeEscalation != false"},
		"in the host's network": {func(p *corev1.PodSpec) { p.HostNetwork = true }, "host namespaces"},
		"with the host's folders": {func(p *corev1.PodSpec) {
			p.Volumes = append(p.Volumes, corev1.Volume{Name: "host", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}})
		}, "hostPath"},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "try-"}, Spec: *deployment.Spec.Template.Spec.DeepCopy()}
		c.change(&pod.Spec)
		_, err := s.Kube.CoreV1().Pods(stage.Namespace).Create(s.t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		switch {
		case c.want == "" && err != nil:
			s.t.Errorf("%s: %v", name, err)
		case c.want != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), c.want)):
			s.t.Errorf("%s: %v, want a refusal that says %s", name, err, c.want)
		}
	}
}
