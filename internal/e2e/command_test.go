package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// tool runs a program against the sandbox as a user does in a shell, and returns
// what it prints.
func (s *scene) tool(stdin, binary string, args ...string) string {
	s.t.Helper()
	out, problem, err := s.try(stdin, binary, args...)
	if err != nil {
		s.t.Fatalf("%s %v: %v\n%s%s\n%s", filepath.Base(binary), args, err, out, problem, s.happened())
	}
	return out
}

func (s *scene) try(stdin, binary string, args ...string) (said, problem string, err error) {
	s.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(s.t.Context(), binary, args...)
	home := s.t.TempDir()
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.Sandbox.Kubeconfig, "KUBECACHEDIR="+home, "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

// built returns the path of a binary under bin/.
func (s *scene) built(name string) string {
	s.t.Helper()
	path, err := s.Binary(name)
	if err != nil {
		s.t.Fatal(err)
	}
	return path
}

func (s *scene) kubectl(stdin string, args ...string) string {
	s.t.Helper()
	return s.tool(stdin, s.built("controlplane"), append([]string{"kubectl"}, args...)...)
}

// kubectlFails runs kubectl, which has to fail, and returns what it says.
func (s *scene) kubectlFails(args ...string) string {
	s.t.Helper()
	out, problem, err := s.try("", s.built("controlplane"), append([]string{"kubectl"}, args...)...)
	if err == nil {
		s.t.Fatalf("kubectl %v succeeds: %s", args, out)
	}
	return problem
}

func (s *scene) helm(args ...string) string {
	s.t.Helper()
	path, err := s.Binary("tools/helm")
	if err != nil {
		s.t.Fatalf("%v; for Helm that is `make bin/tools/helm`", err)
	}
	return s.tool("", path, args...)
}

// manifests are what an agent's binary prints for the installation of testdata/agent.
func (s *scene) manifests(agent string, args ...string) string {
	s.t.Helper()
	return s.tool("", agent, append([]string{
		"manifests", "--cluster-name", s.Sandbox.ClusterName, "--region", s.Sandbox.Region,
		"--role-arn", agentRole, "--option", "log-format=text",
	}, args...)...)
}

// agentRole is the role that testdata/agent makes.
const agentRole = "arn:aws:iam::123456789012:role/packhorse-demo-agent"
