package userdata

import (
	"regexp"
	"strings"
)

var powerShellTag = regexp.MustCompile(`(?i)</?powershell>`)

// windows returns a PowerShell script: the user's own, and then a call of the image's bootstrap
// script.
func (n *Node) windows() string {
	var b strings.Builder
	b.WriteString("<powershell>\n")
	if own := strings.TrimSpace(powerShellTag.ReplaceAllString(n.Own, "")); own != "" {
		b.WriteString(own + "\n")
	}
	b.WriteString(`[string]$EKSBootstrapScriptFile = "$env:ProgramFiles\Amazon\EKS\Start-EKSBootstrap.ps1"` + "\n")
	b.WriteString("& $EKSBootstrapScriptFile -EKSClusterName " + powerShellQuote(n.Cluster))
	option := func(name, value string) {
		if value != "" {
			b.WriteString(" -" + name + " " + powerShellQuote(value))
		}
	}
	option("APIServerEndpoint", n.Endpoint)
	option("Base64ClusterCA", n.encodedCA())
	if dns := n.clusterDNS(); len(dns) > 0 {
		option("DNSClusterIP", dns[0])
	}
	option("ServiceCIDR", n.ServiceCIDR)
	option("KubeletExtraArgs", strings.Join(n.kubeletFlags(), " "))
	b.WriteString("\n</powershell>\n")
	return b.String()
}

func powerShellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
