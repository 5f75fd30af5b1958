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
	var out, problem bytes.Buffer
	cmd := exec.CommandContext(s.t.Context(), binary, args...)
	home := s.t.TempDir()
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.Sandbox.Kubeconfig, "KUBECACHEDIR="+home, "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &problem
	if err := cmd.Run(); err != nil {
		s.t.Fatalf("%s %v: %v\n%s%s\n%s", filepath.Base(binary), args, err, out.String(), problem.String(), s.happened())
	}
	return out.String()
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
