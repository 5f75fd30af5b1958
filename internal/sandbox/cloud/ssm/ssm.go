// Package ssm is a model of the public parameters of SSM.
package ssm

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2/image"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/wire"
)

// SSM is the service with the parameters that name images.
type SSM struct {
	*account.Account
	images *image.Images
}

// New returns the service.
func New(a *account.Account, images *image.Images) *SSM { return &SSM{a, images} }

// Service returns the calls that it answers.
func (c *SSM) Service() *account.Service {
	s := &account.Service{
		Target:     "AmazonSSM",
		Name:       "ssm",
		Protocol:   account.JSONProtocol{Names: wire.PascalNames, ContentType: "application/x-amz-json-1.1"},
		Words:      account.JSONDialect(),
		Operations: map[string]account.Operation{},
	}
	account.Add(s, c, accessesOfGetParameter, (*SSM).getParameter)
	account.Add(s, c, accessesOfGetParameters, (*SSM).getParameters)
	return s
}

// parameterARN returns the ARN of a public parameter, which has no account.
func (c *SSM) parameterARN(name string) string {
	return "arn:aws:ssm:" + c.Region + "::parameter/" + strings.TrimPrefix(name, "/")
}

func accessesOfGetParameter(c *SSM, in *ssm.GetParameterInput) []account.Access {
	return []account.Access{{Action: "ssm:GetParameter", Resource: c.parameterARN(account.Deref(in.Name))}}
}

func accessesOfGetParameters(c *SSM, in *ssm.GetParametersInput) []account.Access {
	var needed []account.Access
	for _, name := range in.Names {
		needed = append(needed, account.Access{Action: "ssm:GetParameters", Resource: c.parameterARN(name)})
	}
	return needed
}

func (c *SSM) parameter(name, value string) *types.Parameter {
	return &types.Parameter{
		Name: &name, Value: &value, Type: types.ParameterTypeString, Version: 1, DataType: aws.String("text"), ARN: aws.String(c.parameterARN(name)),
	}
}

func (c *SSM) getParameter(_ *account.Caller, in *ssm.GetParameterInput) (*ssm.GetParameterOutput, error) {
	name := account.Deref(in.Name)
	if name == "" {
		return nil, account.Fail("ValidationException", "1 validation error detected: Value null at 'name' failed to satisfy constraint: Member must not be null")
	}
	value, ok := c.images.PublicParameters()[name]
	if !ok {
		return nil, account.Fail("ParameterNotFound", "Parameter %s not found.", name)
	}
	return &ssm.GetParameterOutput{Parameter: c.parameter(name, value)}, nil
}

func (c *SSM) getParameters(_ *account.Caller, in *ssm.GetParametersInput) (*ssm.GetParametersOutput, error) {
	if len(in.Names) < 1 || len(in.Names) > 10 {
		return nil, account.Fail("ValidationException", "1 validation error detected: Value at 'names' failed to satisfy constraint: Member must have length between 1 and 10")
	}
	known := c.images.PublicParameters()
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
