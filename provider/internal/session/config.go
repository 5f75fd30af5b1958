// Package session contains the configuration of the provider block, and the ports to the cluster and to
// AWS. Connections are made on first use, so that planning something new needs neither.
package session

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Config is the provider block.
type Config struct {
	// Version is that of the provider, and of the agent that it installs.
	Version string
	// ClusterName is the name of an EKS cluster. EmptyName means that it is set to an empty text, which is not the same as
	// leaving the choice to the environment.
	ClusterName string
	EmptyName   bool
	// Kubernetes says how to reach a cluster without EKS. It is nil if ClusterName is used.
	Kubernetes *Kubernetes
	// KubeConfigPath is from the environment. It is used if neither of the others is set.
	KubeConfigPath string

	AWS         AWS
	DefaultTags map[string]string
	// FieldManager owns the declared fields of objects. ForceConflicts takes fields over from
	// other field managers instead of reporting a conflict.
	FieldManager   string
	ForceConflicts bool

	// PlanChecks is error, warn or off; empty means warn.
	PlanChecks string
	// CatalogueFile is the path of a saved catalogue to use instead of AWS.
	CatalogueFile string

	// Unknown lists the attributes of the block that are known only after apply. What is known of them is set above.
	Unknown []string
}

// accountAttributes are the attributes of the provider block on which the access to AWS depends, clusterAttributes those
// on which the access to the cluster depends, and stockAttributes those on which a preview of what can be bought depends.
var (
	accountAttributes = []string{"region", "profile", "assume_role", "endpoints"}
	clusterAttributes = append([]string{"cluster_name", "kubernetes", "field_manager", "force_conflicts"}, accountAttributes...)
	stockAttributes   = append([]string{"catalogue_file", "plan_checks"}, clusterAttributes...)
)

// known returns ErrUnknown if one of the attributes is known only after apply.
func (c Config) known(attributes []string) error {
	var unknown []string
	for _, name := range c.Unknown {
		if slices.Contains(attributes, name) {
			unknown = append(unknown, "`"+name+"`")
		}
	}
	if len(unknown) > 0 {
		return fmt.Errorf("%w: %s", ErrUnknown, strings.Join(unknown, ", "))
	}
	return nil
}

// Known returns ErrUnknown if the access to the cluster is known only after apply.
func (c Config) Known() error { return c.known(clusterAttributes) }

// UnknownTags reports whether the default tags are known only after apply.
func (c Config) UnknownTags() bool { return slices.Contains(c.Unknown, "default_tags") }

// The values of PlanChecks.
const (
	ChecksError = "error"
	ChecksWarn  = "warn"
	ChecksOff   = "off"
)

// AWS says how to reach AWS. What is not set comes from the environment and the shared configuration
// files.
type AWS struct {
	Region  string
	Profile string
	Assume  *AssumedRole
	// Endpoints are URLs by service (eks, iam, sts, …).
	Endpoints map[string]string
}

// AssumedRole is an IAM role to assume. Only ARN is required.
type AssumedRole struct {
	ARN         string
	SessionName string // default: terraform-provider-packhorse
	ExternalID  string
	Duration    time.Duration // of the session; default: 15 minutes
}

// Kubernetes says how to reach a cluster: with a kubeconfig, or with a host and credentials.
type Kubernetes struct {
	ConfigPath    string
	ConfigContext string

	Host              string
	CA                string
	TLSServerName     string
	ProxyURL          string
	Token             string
	ClientCertificate string
	ClientKey         string
	Exec              *Exec
}

// Exec is a program that prints credentials.
type Exec struct {
	APIVersion string
	Command    string
	Args       []string
	Env        map[string]string
}

// ErrNoCluster means that no cluster is configured.
var ErrNoCluster = errors.New("no cluster is configured: set `cluster_name` or `kubernetes` in the provider block, or KUBE_CONFIG_PATH in the environment")

// emptyNameError is an ErrNoCluster that does not suggest the environment.
type emptyNameError struct{}

func (emptyNameError) Error() string { return "`cluster_name` is empty: name the cluster, or omit it" }

func (emptyNameError) Is(target error) bool { return target == ErrNoCluster }

// Unnamed reports whether an error means that the provider block does not tell, or not yet, which cluster it is about.
func Unnamed(err error) bool { return errors.Is(err, ErrUnknown) || errors.Is(err, ErrNoCluster) }

// ErrUnknown means that the provider block is known only after apply.
var ErrUnknown = errors.New("the provider block is known only after apply")

// NamesAWS reports whether the provider block configures access to AWS. If it does not, missing
// credentials are not an error, and checks that need them are left out.
func (c Config) NamesAWS() bool {
	return c.ClusterName != "" || c.AWS.Profile != "" || c.AWS.Assume != nil
}

// Source returns how the cluster is reached, for the log. It returns an error if the provider block names
// no cluster, or is ambiguous or incomplete.
func (c Config) Source() (string, error) {
	switch {
	case c.ClusterName != "" && c.Kubernetes != nil:
		return "", errors.New("both `cluster_name` and `kubernetes` are set: keep one of them")
	case c.ClusterName != "":
		return fmt.Sprintf("EKS cluster %q", c.ClusterName), nil
	case c.Kubernetes != nil:
		return "the provider block's `kubernetes`", c.Kubernetes.check()
	case c.EmptyName:
		return "", emptyNameError{}
	case c.KubeConfigPath != "":
		return "KUBE_CONFIG_PATH", nil
	}
	return "", ErrNoCluster
}

func (k *Kubernetes) check() error {
	switch {
	case k.ConfigPath != "" && k.Host != "":
		return errors.New("both `kubernetes.config_path` and `kubernetes.host` are set: keep one of them")
	case k.ConfigPath == "" && k.Host == "":
		return errors.New("`kubernetes` needs either `config_path` or `host`")
	case k.ConfigContext != "" && k.ConfigPath == "":
		return errors.New("`kubernetes.config_context` needs `config_path`")
	case k.ConfigPath != "":
		return nil
	}
	var ways []string
	for _, way := range []struct {
		name string
		set  bool
	}{{"token", k.Token != ""}, {"exec", k.Exec != nil}, {"client_certificate", k.ClientCertificate != ""}} {
		if way.set {
			ways = append(ways, "`"+way.name+"`")
		}
	}
	switch {
	case len(ways) > 1:
		return fmt.Errorf("`kubernetes` has %s: keep one way to authenticate", strings.Join(ways, " and "))
	case (k.ClientCertificate == "") != (k.ClientKey == ""):
		return errors.New("`kubernetes.client_certificate` and `kubernetes.client_key` must be set together")
	}
	return k.checkURLs()
}

// checkURLs refuses what is no URL. Without a scheme, and with no certificate authority, the Kubernetes client would
// send a token over plain HTTP.
func (k *Kubernetes) checkURLs() error {
	host, err := url.Parse(k.Host)
	isURL := err == nil && host.Host != ""
	switch {
	case !isURL || host.Scheme != "https" && host.Scheme != "http":
		_, rest, hasScheme := strings.Cut(k.Host, "://")
		if !hasScheme {
			rest = k.Host
		}
		return fmt.Errorf("`kubernetes.host`: %q must be a URL, such as https://%s", k.Host, cmp.Or(rest, "api.example.com"))
	case host.Scheme == "http" && (k.Token != "" || k.Exec != nil):
		host.Scheme = "https"
		return fmt.Errorf("`kubernetes.host`: %q would send credentials in clear text: set %s", k.Host, host)
	case k.ProxyURL == "":
		return nil
	}
	// A proxy's URL may hold a password, so it is not shown.
	proxy, err := url.Parse(k.ProxyURL)
	if err != nil || proxy.Host == "" || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, proxy.Scheme) {
		return errors.New("`kubernetes.proxy_url` must be a URL, such as http://proxy.example.com:3128")
	}
	return nil
}

// secrets returns what must never be logged.
func (c Config) secrets() []string {
	if c.Kubernetes == nil {
		return nil
	}
	out := []string{c.Kubernetes.Token, c.Kubernetes.ClientKey}
	if c.Kubernetes.Exec != nil {
		out = slices.AppendSeq(out, maps.Values(c.Kubernetes.Exec.Env))
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}
