package install_test

import (
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
)

// An endpoint can be set for each service that the agent calls, and for no other.
func TestEndpointServicesAreThoseThatTheAgentCalls(t *testing.T) {
	const clients = "github.com/aws/aws-sdk-go-v2/service/"
	called := map[string]bool{"sts": true} // which the web identity step of package connect calls
	var files []string
	for _, folder := range []string{".", "client", "lookup", "notices", "stock"} { // what the agent is made of
		found, err := filepath.Glob(filepath.Join("../aws", folder, "*.go"))
		if err != nil || len(found) == 0 {
			t.Fatalf("files of internal/aws/%s: %v, %v", folder, found, err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range parsed.Imports {
			if name, ok := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), clients); ok {
				service, _, _ := strings.Cut(name, "/")
				called[service] = true
			}
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(called)), install.EndpointServices()); diff != "" {
		t.Errorf("services (-called +endpoints):\n%s", diff)
	}
}

// A variable of the environment wins over an endpoint, without being there twice, and
// what is read back is what was declared.
func TestVariablesWinOverEndpoints(t *testing.T) {
	const variable = "AWS_ENDPOINT_URL_EC2"
	for name, declared := range map[string]install.Settings{
		"endpoints": {Endpoints: map[string]string{"ec2": "https://theirs", "sqs": "https://queues"}},
		"variables": {Environment: map[string]string{variable: "https://theirs", "AWS_ENDPOINT_URL": "https://all"}},
		"both": {
			Endpoints:   map[string]string{"ec2": "https://ours", "sqs": "https://queues"},
			Environment: map[string]string{variable: "https://theirs"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			declared.ClusterName = "prod"
			s := declared.Defaulted("1.2.3")
			if errs := s.Validate(); len(errs) > 0 {
				t.Fatal(errs)
			}
			var values []string
			for _, v := range s.Deployment().Spec.Template.Spec.Containers[0].Env {
				if v.Name == variable {
					values = append(values, v.Value)
				}
			}
			if diff := cmp.Diff([]string{"https://theirs"}, values); diff != "" {
				t.Errorf("values of %s (-want +got):\n%s", variable, diff)
			}
			objects, err := s.Objects()
			if err != nil {
				t.Fatal(err)
			}
			parsed, err := install.Parse(objects)
			if err != nil {
				t.Fatal(err)
			}
			got := parsed.InTermsOf(s)
			if !maps.Equal(got.Endpoints, s.Endpoints) || !maps.Equal(got.Environment, s.Environment) {
				t.Errorf("read back: endpoints %v, environment %v; declared: %v, %v", got.Endpoints, got.Environment, s.Endpoints, s.Environment)
			}
		})
	}
}
