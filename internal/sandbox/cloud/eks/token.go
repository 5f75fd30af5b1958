package eks

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/sigv4"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/sts"
)

const (
	tokenMark       = "k8s-aws-v1."
	clusterIDHeader = "x-k8s-aws-id"
	tokenLifetime   = 15 * time.Minute // from X-Amz-Date, whatever the URL says of its expiry
)

// AuthenticateToken checks a bearer token for the cluster, as EKS does: a
// presigned URL of GetCallerIdentity, signed by a principal of this account
// with the cluster's name among the signed headers. The principal's access
// entry gives the user name and groups; the administrator, who created the
// cluster, is in system:masters.
func (c *EKS) AuthenticateToken(ctx context.Context, token string) (username string, groups []string, err error) {
	request, err := tokenRequest(ctx, token)
	if err != nil {
		return "", nil, fmt.Errorf("read the token: %w", err)
	}
	claims, err := sigv4.Parse(request)
	if err != nil {
		return "", nil, fmt.Errorf("read the token's signature: %w", err)
	}
	if !slices.Contains(claims.SignedHeaders, clusterIDHeader) {
		return "", nil, fmt.Errorf("the token's signature does not cover %s", clusterIDHeader)
	}
	c.Mu.Lock()
	defer c.Mu.Unlock()
	request.Header.Set(clusterIDHeader, c.Cluster.Name)
	if age := c.Wall().Sub(claims.Date); age > tokenLifetime || age < -account.ClockSkew {
		return "", nil, fmt.Errorf("the token is of %s and no longer, or not yet, valid", claims.Date)
	}
	who, err := c.Verify(account.QueryDialect(), claims, &account.Received{Request: request})
	if err != nil {
		return "", nil, fmt.Errorf("verify the token for cluster %s: %w", c.Cluster.Name, err)
	}
	return c.clusterIdentity(who)
}

// tokenRequest rebuilds the request that the token's URL was signed for.
func tokenRequest(ctx context.Context, token string) (*http.Request, error) {
	encoded, found := strings.CutPrefix(token, tokenMark)
	if !found {
		return nil, fmt.Errorf("it does not begin with %s", tokenMark)
	}
	text, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(encoded, "="))
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, string(text), nil)
	if err != nil {
		return nil, err
	}
	query := request.URL.Query()
	if query.Get("Action") != "GetCallerIdentity" || query.Get("Version") != sts.Version {
		return nil, errors.New("it is not a presigned GetCallerIdentity")
	}
	return request, nil
}

// clusterIdentity maps a principal to its name and groups in the cluster.
func (c *EKS) clusterIdentity(who account.Principal) (string, []string, error) {
	if who.Admin {
		return who.ARN, []string{"system:masters"}, nil
	}
	entry := c.Entries[c.PrincipalARN(who)]
	if entry == nil {
		return "", nil, fmt.Errorf("%s has no access entry for cluster %s", who.ARN, c.Cluster.Name)
	}
	session := who.ARN[strings.LastIndex(who.ARN, "/")+1:]
	name := strings.NewReplacer("{{SessionName}}", session, "{{SessionNameRaw}}", session, "{{EC2PrivateDNSName}}", c.dnsOfSession(session)).Replace(entry.Username)
	return name, slices.Clone(entry.Groups), nil
}

// dnsOfSession returns the node's name for a session of an instance: EC2 names
// such sessions by the instance's id.
func (c *EKS) dnsOfSession(session string) string {
	if m := c.ec2.Machines[session]; m != nil {
		return c.ec2.PrivateDNS(m.Address)
	}
	return session
}
