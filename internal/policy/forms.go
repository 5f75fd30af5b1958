package policy

import (
	"fmt"
	"regexp"
	"strings"
)

// Form is what a name or an ARN has to look like in AWS.
type Form struct {
	pattern *regexp.Regexp
	says    string
}

// Says tells what a value must be.
func (f Form) Says() string { return "must be " + f.says }

// Pattern is the form as a regular expression.
func (f Form) Pattern() string { return f.pattern.String() }

// Fits reports whether a value has the form.
func (f Form) Fits(value string) bool { return f.pattern.MatchString(value) }

// Check says what is wrong with a value, beginning with the value itself.
func (f Form) Check(value string) error {
	switch {
	case f.Fits(value):
		return nil
	case strings.ContainsAny(value, "*?"):
		return fmt.Errorf("%q %s; wildcards are refused, as they would stand for more than one", value, f.Says())
	}
	return fmt.Errorf("%q %s", value, f.Says())
}

func form(pattern, says string) Form { return Form{regexp.MustCompile(`^(?:` + pattern + `)$`), says} }

// The parts of ARNs. Paths of IAM may hold all printable characters of ASCII; those
// that policies give another meaning, wildcards and variables, are refused.
const (
	partition = `aws(?:-[a-z]+)*`
	region    = `[a-z]{2,}(?:-[a-z]+)+-\d+`
	account   = `\d{12}`
	iamName   = `[\w+=,.@-]`
	iamPath   = `/(?:[!-#%-)+->@-~]+/)?`
	roleARN   = `arn:` + partition + `:iam::` + account + `:role` + iamPath + iamName + `{1,64}`
)

// The forms of what configurations name in AWS.
var (
	Partition   = form(partition, "a partition, such as aws")
	Endpoint    = form(`https?://(?:[0-9A-Za-z._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?(?:/[^\s?#]*)?`, "the URL of an AWS service, such as https://ec2.eu-west-1.amazonaws.com")
	Region      = form(region, "an AWS region, such as eu-west-1")
	Account     = form(account, "an AWS account, which has 12 digits")
	ClusterName = form(`[0-9A-Za-z][0-9A-Za-z_-]{0,99}`, "the name of an EKS cluster: letters, digits, - and _, at most 100")
	RoleName    = form(iamName+`{1,64}`, "the name of an IAM role: at most 64 letters, digits and _+=,.@-, without its path")
	RoleARN     = form(roleARN, "the ARN of an IAM role, such as arn:aws:iam::123456789012:role/NAME")
	Role        = form(iamName+`{1,64}|`+roleARN, "the name of an IAM role without its path, or its ARN, such as arn:aws:iam::123456789012:role/NAME")
	Path        = form(iamPath, `a path of IAM, which begins and ends with a slash, such as "/" or "/nodes/"`)
	PolicyARN   = form(`arn:`+partition+`:iam::(?:aws|`+account+`):policy`+iamPath+iamName+`{1,128}`,
		"the ARN of a managed policy, such as arn:aws:iam::123456789012:policy/NAME")
	PolicyName   = form(iamName+`{1,128}`, "the name of an inline policy: at most 128 letters, digits and _+=,.@-")
	ProfileName  = form(iamName+`{1,128}`, "the name of an instance profile, not its ARN: at most 128 letters, digits and _+=,.@-")
	ProviderForm = form(`arn:`+partition+`:iam::`+account+`:oidc-provider/[^*?$\s]+`,
		"the ARN of an IAM OIDC provider, such as arn:aws:iam::123456789012:oidc-provider/ISSUER")
	QueueARN = form(`arn:`+partition+`:sqs:`+region+`:`+account+`:[\w-]{1,80}(?:\.fifo)?`,
		"the ARN of an SQS queue, such as arn:aws:sqs:eu-west-1:123456789012:NAME")
	QueueName = form(`[\w-]{1,80}(?:\.fifo)?`, "the name of an SQS queue, not its URL or ARN: at most 80 letters, digits, - and _")
	Key       = form(`arn:`+partition+`:kms:`+region+`:`+account+`:(?:key|alias)/[\w/-]+|alias/[\w/-]+|(?:mrk-)?[0-9a-f-]{32,36}`,
		"the id, the alias (alias/NAME) or the ARN of a KMS key")
)

// checkAll returns the first error of values that are to have forms, with what they are.
func checkAll(checks ...formed) error {
	for _, c := range checks {
		if err := c.form.Check(c.value); err != nil {
			return fmt.Errorf("%s %w", c.what, err)
		}
	}
	return nil
}

// formed is a value and the form that it is to have.
type formed struct {
	what, value string
	form        Form
}
