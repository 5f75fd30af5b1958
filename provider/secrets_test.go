package provider_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The secrets that the configurations hold. None of them opens anything.
const (
	plantedToken  = "planted-token-4f1c9a"
	plantedKey    = "planted-key-77d02e"
	plantedOutput = "planted-environment-c3b8f1"
)

// Nothing that is secret is in the state, in what Terraform prints, or in any log
// at the most talkative level, whether the access works or not.
func TestSecretsStaySecret(t *testing.T) {
	logs := captureLogs(t)
	_, adminSecret := box.Cloud.AdminCredentials()
	secrets := map[string]string{
		"the token": plantedToken, "the client key": plantedKey, "the program's environment": plantedOutput,
		"a token for EKS": "k8s-aws-v1.", "the AWS secret": adminSecret, "the certificate authority": secondLine(string(box.CA)),
	}
	blocks := map[string]string{
		"that works":             byName(),
		"with a token":           kubernetesBlock(fmt.Sprintf("token = %q", plantedToken)),
		"with a key":             kubernetesBlock(fmt.Sprintf("client_certificate = \"none\"\n client_key = %q", plantedKey)),
		"with a program":         kubernetesBlock(fmt.Sprintf("exec = { api_version = \"client.authentication.k8s.io/v1\", command = \"false\", env = { A = %q } }", plantedOutput)),
		"with what is not valid": fmt.Sprintf("provider \"packhorse\" {\n kubernetes = { token = %q, host = \"h\", exec = { api_version = \"v\", command = \"c\" } }\n}\n", plantedToken),
	}
	for name, block := range blocks {
		t.Run(name, func(t *testing.T) {
			c := newCLI(t, nil)
			c.env = append(c.env, "TF_LOG=TRACE", "TF_LOG_PATH="+filepath.Join(c.dir, "core.log"))
			c.write(t, map[string]string{"main.tf": "terraform {\n required_providers {\n packhorse = { source = \"packhorse/packhorse\" }\n }\n}\n" + block +
				"resource \"packhorse_provisioner\" \"test\" {\n name = \"secretive\"\n}\n"})
			c.run(t, "init")
			printed, err := c.try(t, "apply", "-auto-approve")
			if works := name == "that works"; (err == nil) != works {
				t.Fatalf("apply: %v\n%s", err, printed)
			}
			texts := map[string]string{"what is printed": printed, "the log of Terraform": readAll(t, filepath.Join(c.dir, "core.log")), "the log of the provider": readAll(t, logs)}
			if err == nil {
				texts["the state"] = readAll(t, filepath.Join(c.dir, "terraform.tfstate"))
				printed, _ = c.try(t, "destroy", "-auto-approve")
				texts["what a destroy prints"] = printed
			}
			for what, secret := range secrets {
				for where, text := range texts {
					if strings.Contains(text, secret) {
						t.Errorf("%s is in %s", what, where)
					}
				}
			}
			if len(texts["the log of Terraform"]) == 0 || len(texts["the log of the provider"]) == 0 {
				t.Error("there are no logs to look into")
			}
		})
	}
}

func kubernetesBlock(credentials string) string {
	return fmt.Sprintf("provider \"packhorse\" {\n kubernetes = {\n host = %q\n cluster_ca_certificate = <<PEM\n%s\nPEM\n %s\n }\n}\n", box.Host, box.CA, credentials)
}

// captureLogs lets the provider log everything, into a file.
func captureLogs(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "provider.log")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	stderr := os.Stderr
	os.Stderr = file
	t.Cleanup(func() {
		os.Stderr = stderr
		file.Close()
	})
	t.Setenv("TF_LOG_SDK", "TRACE")
	t.Setenv("TF_LOG_PROVIDER_PACKHORSE", "TRACE")
	return path
}

func readAll(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// secondLine is the first line of a PEM block's content.
func secondLine(pem string) string { return strings.Split(pem, "\n")[1] }
