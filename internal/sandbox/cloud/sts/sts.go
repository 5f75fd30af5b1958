// Package sts is a model of STS.
package sts

import (
	"regexp"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/aws-sdk-go-v2/service/sts/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/iam"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/wire"
)

// STS is the service that gives out credentials for roles.
type STS struct {
	*account.Account
	iam    *iam.IAM
	Issuer *IssuerKeys
}

// New returns the service.
func New(a *account.Account, i *iam.IAM) *STS { return &STS{a, i, &IssuerKeys{}} }

// Bounds of a role session, in seconds.
const (
	minSession     = 900
	defaultSession = 3600
)

var sessionNameForm = regexp.MustCompile(`^[\w+=,.@-]{2,64}$`)

// Version of the API, by which requests are recognised.
const Version = "2011-06-15"

// Service returns the calls that it answers.
func (c *STS) Service() *account.Service {
	s := &account.Service{
		Version:    Version,
		Name:       "sts",
		Protocol:   account.QueryProtocol{Dialect: wire.Query(), Namespace: "https://sts.amazonaws.com/doc/2011-06-15/", Wrapped: true},
		Words:      account.QueryDialect(),
		Operations: map[string]account.Operation{},
	}
	account.Add(s, c, nil, (*STS).getCallerIdentity) // needs no permission, and cannot be denied
	account.Add(s, c, accessesOfAssumeRole, (*STS).assumeRole)
	account.Add(s, c, nil, (*STS).assumeRoleWithWebIdentity)
	account.Change[sts.AssumeRoleWithWebIdentityInput](s, func(op *account.Operation) { op.Public, op.Waits = true, true })
	return s
}

func (c *STS) getCallerIdentity(caller *account.Caller, _ *sts.GetCallerIdentityInput) (*sts.GetCallerIdentityOutput, error) {
	return &sts.GetCallerIdentityOutput{Account: &c.AccountID, Arn: &caller.Who.ARN, UserId: &caller.Who.UserID}, nil
}

func accessesOfAssumeRole(_ *STS, in *sts.AssumeRoleInput) []account.Access {
	return []account.Access{{Action: "sts:AssumeRole", Resource: account.Deref(in.RoleArn)}}
}

func notAuthorised(action, arn string) *account.APIError {
	return account.Forbidden("AccessDenied", "Not authorized to perform %s on resource: %s", action, arn)
}

func (c *STS) assumeRole(caller *account.Caller, in *sts.AssumeRoleInput) (*sts.AssumeRoleOutput, error) {
	r := c.iam.RoleByARN(account.Deref(in.RoleArn))
	if r == nil {
		return nil, notAuthorised("sts:AssumeRole", account.Deref(in.RoleArn))
	}
	keys := policy.ContextKeys{"sts:RoleSessionName": {account.Deref(in.RoleSessionName)}}
	if id := account.Deref(in.ExternalId); id != "" {
		keys["sts:ExternalId"] = []string{id}
	}
	decision := policy.Evaluate([]policy.Document{r.TrustDocument}, policy.Request{
		Action: "sts:AssumeRole", Principal: policy.Principal{Kind: "AWS", Name: c.PrincipalARN(caller.Who)}, Context: c.WithGlobalKeys(caller, keys),
	})
	if decision != policy.Allowed {
		return nil, notAuthorised("sts:AssumeRole", *in.RoleArn)
	}
	session, err := c.startSession(r, account.Deref(in.RoleSessionName), in.DurationSeconds)
	if err != nil {
		return nil, err
	}
	return &sts.AssumeRoleOutput{Credentials: describe(session), AssumedRoleUser: assumed(session)}, nil
}

// startSession makes credentials that end after seconds.
func (c *STS) startSession(r *iam.Role, name string, seconds *int32) (*account.Credential, error) {
	if !sessionNameForm.MatchString(name) {
		return nil, account.Fail("ValidationError", "1 validation error detected: Value '%s' at 'roleSessionName' failed to satisfy constraint: Member must have length between 2 and 64 and satisfy regular expression pattern: [\\w+=,.@-]*", name)
	}
	lifetime := int32(defaultSession)
	if seconds != nil {
		lifetime = *seconds
	}
	if lifetime < minSession || lifetime > r.MaxSession {
		return nil, account.Fail("ValidationError", "The requested DurationSeconds %d is not between %d and the MaxSessionDuration %d set for this role.", lifetime, minSession, r.MaxSession)
	}
	lasting := time.Duration(lifetime) * time.Second
	if shortened := c.Behaves.SessionLifetime; shortened > 0 {
		lasting = min(lasting, shortened)
	}
	return c.NewSession(r.Name, r.ID, name, lasting), nil
}

func describe(key *account.Credential) *types.Credentials {
	return &types.Credentials{AccessKeyId: &key.AccessKeyID, SecretAccessKey: &key.Secret, SessionToken: &key.SessionToken, Expiration: &key.Expires}
}

func assumed(key *account.Credential) *types.AssumedRoleUser {
	return &types.AssumedRoleUser{Arn: &key.Who.ARN, AssumedRoleId: &key.Who.UserID}
}

// assumeRoleWithWebIdentity gives credentials for a token that the cluster
// signed, if the account trusts the issuer and the role trusts the subject. It
// fetches keys and therefore runs without the cloud's lock.
func (c *STS) assumeRoleWithWebIdentity(caller *account.Caller, in *sts.AssumeRoleWithWebIdentityInput) (*sts.AssumeRoleWithWebIdentityOutput, error) {
	token, err := c.verifyWebIdentity(caller.Ctx, account.Deref(in.WebIdentityToken))
	if err != nil {
		return nil, err
	}
	c.Mu.Lock()
	defer c.Mu.Unlock()
	arn := c.iam.ProviderARN(token.issuer)
	r := c.iam.RoleByARN(account.Deref(in.RoleArn))
	if r == nil {
		return nil, notAuthorised("sts:AssumeRoleWithWebIdentity", account.Deref(in.RoleArn))
	}
	decision := policy.Evaluate([]policy.Document{r.TrustDocument}, policy.Request{
		Action:    "sts:AssumeRoleWithWebIdentity",
		Principal: policy.Principal{Kind: "Federated", Name: arn},
		Context:   account.Merge(token.conditionKeys(), policy.ContextKeys{"sts:RoleSessionName": {account.Deref(in.RoleSessionName)}, "aws:SecureTransport": {"true"}}),
	})
	if decision != policy.Allowed {
		return nil, notAuthorised("sts:AssumeRoleWithWebIdentity", *in.RoleArn)
	}
	session, err := c.startSession(r, account.Deref(in.RoleSessionName), in.DurationSeconds)
	if err != nil {
		return nil, err
	}
	caller.Who = session.Who
	return &sts.AssumeRoleWithWebIdentityOutput{
		Credentials: describe(session), AssumedRoleUser: assumed(session), Provider: aws.String(arn),
		Audience: &token.audience, SubjectFromWebIdentityToken: &token.subject,
	}, nil
}

func invalidToken(format string, args ...any) *account.APIError {
	return account.Fail("InvalidIdentityToken", format, args...)
}
