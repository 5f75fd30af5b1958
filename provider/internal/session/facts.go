package session

import "time"

// Token is a bearer token.
type Token struct {
	Value   string
	Expires time.Time
}

// Facts are what EKS says of a cluster.
type Facts struct {
	Name, ARN string
	// Endpoint is the URL of the API server, and CA the PEM that it is verified with.
	Endpoint, CA string
	Version      string // such as 1.33
	Status       string
	// Issuer is the URL of the OIDC issuer, empty without one, and ProviderARN the
	// IAM OIDC provider that stands for it, whether or not it exists.
	Issuer, ProviderARN string
	VPC                 string
	Subnets             []string // sorted
	SecurityGroups      []string // sorted, with the cluster's own
	ServiceCIDR         string
	Tags                map[string]string
}
