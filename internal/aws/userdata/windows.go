package userdata

import (
	"regexp"
	"strings"
)

var powerShellTag = regexp.MustCompile(`(?i)</?powershell>`)

// launchOption is a tag with which user data says how EC2Launch runs the script. It is no part of the script.
var launchOption = regexp.MustCompile(`(?im)^[ \t]*<(?:persist|powershellArguments|runAsLocalSystem|detach)>[^<\n]*</\w+>[ \t]*\r?$`)

// windows returns a PowerShell script: the user's own, and then a call of the image's bootstrap
// script. After it come the user's options for EC2Launch.
func (n *Node) windows() string {
	var b strings.Builder
	b.WriteString("<powershell>\n")
	if own := strings.TrimSpace(powerShellTag.ReplaceAllString(launchOption.ReplaceAllString(n.Own, ""), "")); own != "" {
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
	for _, option := range launchOption.FindAllString(n.Own, -1) {
		b.WriteString(strings.TrimSpace(option) + "\n")
	}
	return b.String()
}

func powerShellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
