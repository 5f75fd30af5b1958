package session

import "time"

// Token is a bearer token.
type Token struct {
	Value   string
	Expires time.Time
}

// Facts is EKS's description of a cluster.
type Facts struct {
	Name, ARN string
	// Endpoint is the URL of the API server, and CA the PEM bundle that verifies its
	// certificate.
	Endpoint, CA string
	Version      string // such as 1.33
	Status       string
	// Issuer is the URL of the OIDC issuer, and ProviderARN the ARN of the issuer's IAM OIDC
	// provider, whether or not that exists. Both are empty without an issuer.
	Issuer, ProviderARN string
	VPC                 string
	Subnets             []string // sorted
	SecurityGroups      []string // sorted, with the cluster's own
	ServiceCIDR         string
	Tags                map[string]string
}
