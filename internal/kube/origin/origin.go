// Package origin finds whether an API server is that of an EKS cluster.
package origin

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
)

// patience is how long the API server may take to name its issuer.
const patience = 10 * time.Second

// Check returns an error if the API server is not that of the EKS cluster: machines of a cluster whose nodes are
// looked up elsewhere would all seem to be without a node, and be terminated. It is the cluster's if it is reached by
// a CA certificate of the cluster. Otherwise something between may have a certificate of its own, so that the issuer of
// ServiceAccount tokens decides, which is another one in each cluster. If nothing can be compared, it is no error.
func Check(ctx context.Context, cfg *rest.Config, c *asset.Cluster) error {
	cfg = rest.CopyConfig(cfg)
	if err := rest.LoadTLSFiles(cfg); err != nil {
		return fmt.Errorf("compare the API server %s with EKS cluster %q: %w", cfg.Host, c.Name, err)
	}
	ours, theirs := certificates(cfg.CAData), certificates(c.CA)
	if slices.ContainsFunc(ours, func(a []byte) bool {
		return slices.ContainsFunc(theirs, func(b []byte) bool { return bytes.Equal(a, b) })
	}) {
		return nil
	}
	found, err := issuer(ctx, cfg)
	if c.Issuer == "" {
		err = errors.Join(err, errors.New("EKS reports no issuer"))
	}
	const advice = "check --cluster-name, the region, and the cluster that the kubeconfig or the pod's ServiceAccount leads to"
	switch {
	case err == nil && path.Base(found) == path.Base(c.Issuer):
		return nil
	case err == nil:
		return fmt.Errorf("the API server %s is not that of EKS cluster %q: its issuer is %s, and that of the cluster %s; %s", cfg.Host, c.Name, found, c.Issuer, advice)
	case len(ours) > 0 && len(theirs) > 0:
		return fmt.Errorf("the API server %s is not that of EKS cluster %q, as far as can be told: it is reached by another CA, and its issuer could not be compared (%w); %s, and let the agent read /.well-known/openid-configuration",
			cfg.Host, c.Name, err, advice)
	}
	return nil
}

// certificates returns those of a PEM bundle, as bytes.
func certificates(bundle []byte) (out [][]byte) {
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		out = append(out, block.Bytes)
	}
	return out
}

// issuer returns what the API server calls itself in tokens of ServiceAccounts. Every ServiceAccount may read it.
func issuer(ctx context.Context, cfg *rest.Config) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cfg, err := call.BoundPlugin(cfg)
	if err != nil {
		return "", err
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return "", fmt.Errorf("create a client: %w", err)
	}
	body, err := client.RESTClient().Get().AbsPath("/.well-known/openid-configuration").DoRaw(ctx)
	if err != nil {
		return "", fmt.Errorf("read the issuer: %w", err)
	}
	var document struct{ Issuer string }
	if err := json.Unmarshal(body, &document); err != nil || document.Issuer == "" {
		return "", errors.New("the API server names no issuer")
	}
	return document.Issuer, nil
}
