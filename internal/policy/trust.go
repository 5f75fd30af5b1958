package policy

import (
	"encoding/json"
	"errors"
	"fmt"
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

// Trust is who may assume a role through a cluster's OIDC issuer.
type Trust struct {
	// Provider is the ARN of the issuer's IAM OIDC provider.
	Provider string
	// Issuer is the issuer's URL, with or without https://.
	Issuer   string
	Accounts []ServiceAccount
}

// JSON returns the trust policy. It demands both the subject and the audience
// of the token: without either of them any workload of the cluster could assume
// the role.
func (t Trust) JSON() (string, error) {
	issuer := IssuerPath(t.Issuer)
	subjects := make(values, len(t.Accounts))
	for i, account := range t.Accounts {
		subjects[i] = account.subject()
	}
	slices.Sort(subjects)
	return render("of trust", MaxTrust, statement{
		Effect:    "Allow",
		Principal: principals{"Federated": {t.Provider}},
		Action:    values{assumeRoleWithWebIdentity},
		Condition: map[string]condition{"StringEquals": {
			issuer + ":aud": {Audience},
			issuer + ":sub": slices.Compact(subjects),
		}},
	})
}

// ParseTrust reads a trust policy of the form that Trust.JSON writes. Any other
// form is an error: it trusts somebody else, or under other conditions.
func ParseTrust(raw string) (Trust, error) {
	var doc document
	if err := json.Unmarshal([]byte(raw), &doc); err != nil {
		return Trust{}, fmt.Errorf("read trust policy: %w", err)
	}
	if len(doc.Statement) != 1 || !slices.Equal(doc.Statement[0].Action, values{assumeRoleWithWebIdentity}) {
		return Trust{}, fmt.Errorf("read trust policy: it is not a single statement that allows %s", assumeRoleWithWebIdentity)
	}
	s := doc.Statement[0]
	var trust Trust
	if federated := s.Principal["Federated"]; len(federated) == 1 {
		trust.Provider = federated[0]
	}
	for key, subjects := range s.Condition["StringEquals"] {
		issuer, ok := strings.CutSuffix(key, ":sub")
		if !ok {
			continue
		}
		trust.Issuer = "https://" + issuer
		for _, subject := range subjects {
			namespace, name, ok := strings.Cut(strings.TrimPrefix(subject, subjectPrefix), ":")
			if !ok || !strings.HasPrefix(subject, subjectPrefix) {
				return Trust{}, fmt.Errorf("read trust policy: subject %q is no ServiceAccount", subject)
			}
			trust.Accounts = append(trust.Accounts, ServiceAccount{namespace, name})
		}
	}
	if trust.Issuer == "" {
		return Trust{}, errors.New("read trust policy: no condition on the subject of an OIDC token")
	}
	return trust, nil
}

// IssuerPath is the issuer as IAM names it in ARNs and conditions: without a scheme.
func IssuerPath(url string) string {
	return strings.TrimSuffix(strings.TrimPrefix(url, "https://"), "/")
}

// ProviderARN is the ARN of the IAM OIDC provider of an issuer.
func ProviderARN(partition, account, issuer string) string {
	return fmt.Sprintf("arn:%s:iam::%s:oidc-provider/%s", partition, account, IssuerPath(issuer))
}
