package cloud

import (
	"regexp"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/aws-sdk-go-v2/service/sts/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/wire"
)

// Bounds of a role session, in seconds.
const (
	minSession     = 900
	defaultSession = 3600
)

var sessionNameForm = regexp.MustCompile(`^[\w+=,.@-]{2,64}$`)

func newSTS() *service {
	s := &service{
		name:       "sts",
		protocol:   queryProtocol{dialect: wire.Query(), namespace: "https://sts.amazonaws.com/doc/2011-06-15/", wrapped: true},
		words:      queryDialect(),
		operations: map[string]operation{},
	}
	add(s, nil, (*Cloud).getCallerIdentity) // needs no permission, and cannot be denied
	add(s, accessesOfAssumeRole, (*Cloud).assumeRole)
	add(s, nil, (*Cloud).assumeRoleWithWebIdentity)
	change[sts.AssumeRoleWithWebIdentityInput](s, func(op *operation) { op.public, op.waits = true, true })
	return s
}

func (c *Cloud) getCallerIdentity(caller *call, _ *sts.GetCallerIdentityInput) (*sts.GetCallerIdentityOutput, error) {
	return &sts.GetCallerIdentityOutput{Account: &c.account, Arn: &caller.who.arn, UserId: &caller.who.userID}, nil
}

func accessesOfAssumeRole(_ *Cloud, in *sts.AssumeRoleInput) []access {
	return []access{{action: "sts:AssumeRole", resource: deref(in.RoleArn)}}
}

// roleByARN returns nil if there is no such role.
func (c *Cloud) roleByARN(arn string) *role {
	for _, r := range c.iam.roles {
		if c.roleARN(r) == arn && !c.unheardOf(r.created) {
			return r
		}
	}
	return nil
}

func notAuthorised(action, arn string) *apiError {
	return forbidden("AccessDenied", "Not authorized to perform %s on resource: %s", action, arn)
}

func (c *Cloud) assumeRole(caller *call, in *sts.AssumeRoleInput) (*sts.AssumeRoleOutput, error) {
	r := c.roleByARN(deref(in.RoleArn))
	if r == nil {
		return nil, notAuthorised("sts:AssumeRole", deref(in.RoleArn))
	}
	keys := policy.ContextKeys{"sts:RoleSessionName": {deref(in.RoleSessionName)}}
	if id := deref(in.ExternalId); id != "" {
		keys["sts:ExternalId"] = []string{id}
	}
	decision := policy.Evaluate([]policy.Document{r.trustDocument}, policy.Request{
		Action: "sts:AssumeRole", Principal: policy.Principal{Kind: "AWS", Name: c.principalARN(caller.who)}, Context: c.withGlobalKeys(caller, keys),
	})
	if decision != policy.Allowed {
		return nil, notAuthorised("sts:AssumeRole", *in.RoleArn)
	}
	session, err := c.startSession(r, deref(in.RoleSessionName), in.DurationSeconds)
	if err != nil {
		return nil, err
	}
	return &sts.AssumeRoleOutput{Credentials: session.describe(), AssumedRoleUser: session.user()}, nil
}

// startSession makes credentials that end after seconds.
func (c *Cloud) startSession(r *role, name string, seconds *int32) (*credential, error) {
	if !sessionNameForm.MatchString(name) {
		return nil, fail("ValidationError", "1 validation error detected: Value '%s' at 'roleSessionName' failed to satisfy constraint: Member must have length between 2 and 64 and satisfy regular expression pattern: [\\w+=,.@-]*", name)
	}
	lifetime := int32(defaultSession)
	if seconds != nil {
		lifetime = *seconds
	}
	if lifetime < minSession || lifetime > r.maxSession {
		return nil, fail("ValidationError", "The requested DurationSeconds %d is not between %d and the MaxSessionDuration %d set for this role.", lifetime, minSession, r.maxSession)
	}
	lasting := time.Duration(lifetime) * time.Second
	if shortened := c.behaviour.SessionLifetime; shortened > 0 {
		lasting = min(lasting, shortened)
	}
	return c.newSession(r, name, lasting), nil
}

func (key *credential) describe() *types.Credentials {
	return &types.Credentials{AccessKeyId: &key.accessKeyID, SecretAccessKey: &key.secret, SessionToken: &key.sessionToken, Expiration: &key.expires}
}

func (key *credential) user() *types.AssumedRoleUser {
	return &types.AssumedRoleUser{Arn: &key.who.arn, AssumedRoleId: &key.who.userID}
}

// assumeRoleWithWebIdentity gives credentials for a token that the cluster
// signed, if the account trusts the issuer and the role trusts the subject. It
// fetches keys and therefore runs without the cloud's lock.
func (c *Cloud) assumeRoleWithWebIdentity(caller *call, in *sts.AssumeRoleWithWebIdentityInput) (*sts.AssumeRoleWithWebIdentityOutput, error) {
	token, err := c.verifyWebIdentity(caller.ctx, deref(in.WebIdentityToken))
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	arn := c.providerARN(token.issuer)
	r := c.roleByARN(deref(in.RoleArn))
	if r == nil {
		return nil, notAuthorised("sts:AssumeRoleWithWebIdentity", deref(in.RoleArn))
	}
	decision := policy.Evaluate([]policy.Document{r.trustDocument}, policy.Request{
		Action:    "sts:AssumeRoleWithWebIdentity",
		Principal: policy.Principal{Kind: "Federated", Name: arn},
		Context:   merge(token.conditionKeys(), policy.ContextKeys{"sts:RoleSessionName": {deref(in.RoleSessionName)}, "aws:SecureTransport": {"true"}}),
	})
	if decision != policy.Allowed {
		return nil, notAuthorised("sts:AssumeRoleWithWebIdentity", *in.RoleArn)
	}
	session, err := c.startSession(r, deref(in.RoleSessionName), in.DurationSeconds)
	if err != nil {
		return nil, err
	}
	caller.who = session.who
	return &sts.AssumeRoleWithWebIdentityOutput{
		Credentials: session.describe(), AssumedRoleUser: session.user(), Provider: aws.String(arn),
		Audience: &token.audience, SubjectFromWebIdentityToken: &token.subject,
	}, nil
}

func invalidToken(format string, args ...any) *apiError {
	return fail("InvalidIdentityToken", format, args...)
}
