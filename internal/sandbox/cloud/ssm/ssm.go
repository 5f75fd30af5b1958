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
func (c *SSM) parameterARN(asked string) string {
	name, _ := c.named(asked)
	return "arn:aws:ssm:" + c.Region + "::parameter/" + strings.TrimPrefix(name, "/")
}

// named splits what is asked for, a name or an ARN, into the name and the version after it.
func (c *SSM) named(asked string) (name, version string) {
	name = asked
	if path, ok := strings.CutPrefix(asked, "arn:aws:ssm:"+c.Region+"::parameter/"); ok {
		name = "/" + path
	}
	name, version, _ = strings.Cut(name, ":")
	return name, version
}

// public returns the value of a public parameter, of which there is one version.
func (c *SSM) public(asked string) (*types.Parameter, bool) {
	name, version := c.named(asked)
	value, ok := c.images.PublicParameters()[name]
	p := c.parameter(name, value)
	if version != "" {
		p.Selector = aws.String(":" + version)
	}
	return p, ok && (version == "" || version == "1")
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
	p, ok := c.public(name)
	if !ok {
		return nil, account.Fail("ParameterNotFound", "Parameter %s not found.", name)
	}
	return &ssm.GetParameterOutput{Parameter: p}, nil
}

func (c *SSM) getParameters(_ *account.Caller, in *ssm.GetParametersInput) (*ssm.GetParametersOutput, error) {
	if len(in.Names) < 1 || len(in.Names) > 10 {
		return nil, account.Fail("ValidationException", "1 validation error detected: Value at 'names' failed to satisfy constraint: Member must have length between 1 and 10")
	}
	out := &ssm.GetParametersOutput{Parameters: []types.Parameter{}, InvalidParameters: []string{}}
	for _, name := range in.Names {
		if p, ok := c.public(name); ok {
			out.Parameters = append(out.Parameters, *p)
		} else {
			out.InvalidParameters = append(out.InvalidParameters, name)
		}
	}
	return out, nil
}
