package main

import (
	"testing"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// The CRDs can be installed on the oldest version of Kubernetes that is supported, 1.29. In new rules, an API server
// admits only what the version before it knows, too.
func TestRulesCompileOnTheOldestKubernetes(t *testing.T) {
	env := environment.MustBaseEnvSet(version.MajorMinor(1, 28))
	for _, name := range []string{"provisioners.karpenter.sh", "awsnodetemplates.karpenter.k8s.aws"} {
		compiled := 0
		eachSchema("", newServer(t, name).structural, true, func(path string, s *structuralschema.Structural, root bool) {
			results, err := cel.Compile(s, model.SchemaDeclType(s, root), celconfig.PerCallLimit, env, cel.NewExpressionsEnvLoader())
			if err != nil {
				t.Errorf("%s%s: %v", name, path, err)
			}
			for i, r := range results {
				compiled++
				if r.Error != nil || r.MessageExpressionError != nil {
					t.Errorf("%s%s: %s: %v %v", name, path, s.XValidations[i].Rule, r.Error, r.MessageExpressionError)
				}
			}
		})
		if compiled == 0 {
			t.Errorf("%s has no rules", name)
		}
	}
}

// eachSchema visits a schema and all that it contains.
func eachSchema(path string, s *structuralschema.Structural, root bool, visit func(string, *structuralschema.Structural, bool)) {
	visit(path, s, root)
	for key, property := range s.Properties {
		eachSchema(path+"."+key, &property, false, visit)
	}
	if s.Items != nil {
		eachSchema(path+"[]", s.Items, false, visit)
	}
	if more := s.AdditionalProperties; more != nil && more.Structural != nil {
		eachSchema(path+"{}", more.Structural, false, visit)
	}
}
