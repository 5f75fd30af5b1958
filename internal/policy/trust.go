package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Audience is what the projected tokens of ServiceAccounts that assume roles
// are issued for.
const Audience = "sts.amazonaws.com"

const assumeRoleWithWebIdentity = "sts:AssumeRoleWithWebIdentity"

// ServiceAccount is a Kubernetes ServiceAccount that may assume a role.
type ServiceAccount struct{ Namespace, Name string }

const subjectPrefix = "system:serviceaccount:"

func (s ServiceAccount) subject() string { return subjectPrefix + s.Namespace + ":" + s.Name }

// Trust is which ServiceAccounts may assume a role, through their cluster's OIDC
// issuer, by EKS pod identity, or both.
type Trust struct {
	// Provider is the ARN of the issuer's IAM OIDC provider.
	Provider string
	// Issuer is the issuer's URL, with or without https://; empty if the role is
	// not assumed through it.
	Issuer string
	// Cluster is the ARN of the EKS cluster whose pod identity assumes the role;
	// empty if it does not.
	Cluster  string
	Accounts []ServiceAccount
}

// JSON returns the trust policy. Whichever way the role is assumed, it demands
// the ServiceAccount: without that, any workload of the cluster could.
func (t Trust) JSON() (string, error) {
	if err := t.check(); err != nil {
		return "", err
	}
	var statements []statement
	if t.Issuer != "" {
		statements = append(statements, t.throughIssuer())
	}
	if t.Cluster != "" {
		statements = append(statements, t.byPodIdentity()...)
	}
	return render("of trust", MaxTrust, statements...)
}

func (t Trust) check() error {
	if len(t.Accounts) == 0 {
		return errors.New("the trust policy names no ServiceAccount: any workload could assume the role")
	}
	for _, account := range t.Accounts {
		if strings.ContainsAny(account.Namespace+account.Name, "*?$") {
			return fmt.Errorf("ServiceAccount %s/%s: a trust policy needs exact names", account.Namespace, account.Name)
		}
	}
	if t.Issuer != "" {
		return checkAll(formed{"OIDC provider", t.Provider, ProviderForm})
	}
	return nil
}

// throughIssuer demands the subject of the token and its audience.
func (t Trust) throughIssuer() statement {
	issuer := IssuerPath(t.Issuer)
	subjects := make(values, len(t.Accounts))
	for i, account := range t.Accounts {
		subjects[i] = account.subject()
	}
	slices.Sort(subjects)
	return statement{
		Effect:    "Allow",
		Principal: principals{"Federated": {t.Provider}},
		Action:    values{assumeRoleWithWebIdentity},
		Condition: map[string]condition{"StringEquals": {
			issuer + ":aud": {Audience},
			issuer + ":sub": slices.Compact(subjects),
		}},
	}
}

// ParseTrust reads a trust policy of the form that Trust.JSON writes. Any other
// form is an error: it trusts somebody else, or under other conditions.
func ParseTrust(raw string) (Trust, error) {
	var doc document
	if err := json.Unmarshal([]byte(raw), &doc); err != nil {
		return Trust{}, fmt.Errorf("read trust policy: %w", err)
	}
	var throughIssuer, byPodIdentity Trust
	for i := range doc.Statement {
		s := &doc.Statement[i]
		var err error
		switch {
		case s.Effect != "Allow":
			err = fmt.Errorf("statement %d has the effect %q", i+1, s.Effect)
		case slices.Equal(s.Action, values{assumeRoleWithWebIdentity}) && throughIssuer.Issuer == "":
			throughIssuer, err = s.issuerTrust()
		case slices.Equal(s.Principal["Service"], values{podIdentityService}):
			err = s.addPodIdentity(&byPodIdentity)
		default:
			err = fmt.Errorf("statement %d is neither the only one that allows %s nor one for %s", i+1, assumeRoleWithWebIdentity, podIdentityService)
		}
		if err != nil {
			return Trust{}, fmt.Errorf("read trust policy: %w", err)
		}
	}
	switch {
	case throughIssuer.Issuer == "" && byPodIdentity.Cluster == "":
		return Trust{}, errors.New("read trust policy: it has no statement")
	case throughIssuer.Issuer == "":
		return byPodIdentity, nil
	case byPodIdentity.Cluster != "" && !sameAccounts(throughIssuer.Accounts, byPodIdentity.Accounts):
		return Trust{}, errors.New("read trust policy: the OIDC issuer and pod identity are trusted for different ServiceAccounts")
	}
	throughIssuer.Cluster = byPodIdentity.Cluster
	return throughIssuer, nil
}

// issuerTrust reads a statement about an OIDC issuer. It may lack the condition on the audience.
func (s *statement) issuerTrust() (Trust, error) {
	var trust Trust
	if federated := s.Principal["Federated"]; len(federated) == 1 {
		trust.Provider = federated[0]
	}
	equals := s.Condition["StringEquals"]
	var issuer string
	for key := range equals {
		if of, ok := strings.CutSuffix(key, ":sub"); ok {
			issuer = of
		}
	}
	if issuer == "" {
		return Trust{}, errors.New("no condition on the subject of an OIDC token")
	}
	trust.Issuer = "https://" + issuer
	subject, audience := issuer+":sub", issuer+":aud"
	if err := s.onlyConditions(subject, audience); err != nil {
		return Trust{}, err
	}
	if of, ok := equals[audience]; ok && !slices.Equal(of, values{Audience}) {
		return Trust{}, fmt.Errorf("the audience is %s instead of %s", strings.Join(of, ", "), Audience)
	}
	for _, subject := range equals[subject] {
		namespace, name, ok := strings.Cut(strings.TrimPrefix(subject, subjectPrefix), ":")
		if !ok || !strings.HasPrefix(subject, subjectPrefix) {
			return Trust{}, fmt.Errorf("subject %q is not a ServiceAccount", subject)
		}
		trust.Accounts = append(trust.Accounts, ServiceAccount{namespace, name})
	}
	return trust, nil
}

// onlyConditions returns an error if the statement has another condition than that keys have exact values. Without that
// condition, more could assume the role.
func (s *statement) onlyConditions(keys ...string) error {
	for _, operator := range slices.Sorted(maps.Keys(s.Condition)) {
		for _, key := range slices.Sorted(maps.Keys(s.Condition[operator])) {
			if operator != "StringEquals" || !slices.Contains(keys, key) {
				return fmt.Errorf("there is a further condition, %s of %s", operator, key)
			}
		}
	}
	return nil
}

// IssuerPath is the issuer as IAM names it in ARNs and conditions: without a scheme.
func IssuerPath(url string) string {
	return strings.TrimSuffix(strings.TrimPrefix(url, "https://"), "/")
}

// ProviderARN is the ARN of the IAM OIDC provider of an issuer.
func ProviderARN(partition, account, issuer string) string {
	return fmt.Sprintf("arn:%s:iam::%s:oidc-provider/%s", partition, account, IssuerPath(issuer))
}
