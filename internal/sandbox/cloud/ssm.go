package cloud

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/wire"
)

func newSSM() *service {
	s := &service{
		name:       "ssm",
		protocol:   jsonProtocol{names: wire.PascalNames, contentType: "application/x-amz-json-1.1"},
		words:      jsonDialect(),
		operations: map[string]operation{},
	}
	add(s, accessesOfGetParameter, (*Cloud).getParameter)
	add(s, accessesOfGetParameters, (*Cloud).getParameters)
	add(s, accessesOfGetParametersByPath, (*Cloud).getParametersByPath)
	return s
}

// parameterARN returns the ARN of a public parameter, which has no account.
func (c *Cloud) parameterARN(name string) string {
	return "arn:aws:ssm:" + c.region + "::parameter/" + strings.TrimPrefix(name, "/")
}

func accessesOfGetParameter(c *Cloud, in *ssm.GetParameterInput) []access {
	return []access{{action: "ssm:GetParameter", resource: c.parameterARN(deref(in.Name))}}
}

func accessesOfGetParameters(c *Cloud, in *ssm.GetParametersInput) []access {
	var needed []access
	for _, name := range in.Names {
		needed = append(needed, access{action: "ssm:GetParameters", resource: c.parameterARN(name)})
	}
	return needed
}

func accessesOfGetParametersByPath(c *Cloud, in *ssm.GetParametersByPathInput) []access {
	return []access{{action: "ssm:GetParametersByPath", resource: c.parameterARN(deref(in.Path))}}
}

func (c *Cloud) parameter(name, value string) *types.Parameter {
	return &types.Parameter{
		Name: &name, Value: &value, Type: types.ParameterTypeString, Version: 1, DataType: aws.String("text"), ARN: aws.String(c.parameterARN(name)),
	}
}

func (c *Cloud) getParameter(_ *call, in *ssm.GetParameterInput) (*ssm.GetParameterOutput, error) {
	name := deref(in.Name)
	if name == "" {
		return nil, fail("ValidationException", "1 validation error detected: Value null at 'name' failed to satisfy constraint: Member must not be null")
	}
	value, ok := c.publicParameters()[name]
	if !ok {
		return nil, fail("ParameterNotFound", "Parameter %s not found.", name)
	}
	return &ssm.GetParameterOutput{Parameter: c.parameter(name, value)}, nil
}

func (c *Cloud) getParameters(_ *call, in *ssm.GetParametersInput) (*ssm.GetParametersOutput, error) {
	if len(in.Names) < 1 || len(in.Names) > 10 {
		return nil, fail("ValidationException", "1 validation error detected: Value at 'names' failed to satisfy constraint: Member must have length between 1 and 10")
	}
	known := c.publicParameters()
	out := &ssm.GetParametersOutput{Parameters: []types.Parameter{}, InvalidParameters: []string{}}
	for _, name := range in.Names {
		if value, ok := known[name]; ok {
			out.Parameters = append(out.Parameters, *c.parameter(name, value))
		} else {
			out.InvalidParameters = append(out.InvalidParameters, name)
		}
	}
	return out, nil
}

func (c *Cloud) getParametersByPath(_ *call, in *ssm.GetParametersByPathInput) (*ssm.GetParametersByPathOutput, error) {
	prefix := strings.TrimSuffix(deref(in.Path), "/") + "/"
	known := c.publicParameters()
	names := slices.DeleteFunc(sortedKeys(known), func(name string) bool {
		rest, below := strings.CutPrefix(name, prefix)
		return !below || (!deref(in.Recursive) && strings.Contains(rest, "/"))
	})
	part, next, err := page(names, in.NextToken, in.MaxResults, 10)
	if err != nil {
		return nil, fail("InvalidNextToken", "The specified token isn't valid.")
	}
	out := &ssm.GetParametersByPathOutput{Parameters: []types.Parameter{}, NextToken: next}
	for _, name := range part {
		out.Parameters = append(out.Parameters, *c.parameter(name, known[name]))
	}
	return out, nil
}
