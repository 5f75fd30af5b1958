package userdata

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// windowsScript is the bootstrap script of EKS's Windows images.
const windowsScript = "Start-EKSBootstrap.ps1"

var (
	powerShellBlock = regexp.MustCompile(`(?is)<powershell>(.*?)</powershell>`)
	// A variable that holds the script's path: $Name = "…Start-EKSBootstrap.ps1".
	powerShellPath = regexp.MustCompile(`(?i)(\$\w+)\s*=\s*["'][^"'\n]*` + regexp.QuoteMeta(windowsScript) + `["']`)
	// A parameter and its value: single-quoted with '' for a quote, double-quoted
	// with a backtick as the escape, or bare.
	powerShellParameter = regexp.MustCompile("-(\\w+)(?:\\s+|:)('(?:[^']|'')*'|\"(?:[^\"`]|`.)*\"|[^\\s'\"-]\\S*)")
	powerShellEscape    = regexp.MustCompile("(?s)`(.)")
)

// parsePowerShell finds the call of the EKS bootstrap script and reads its
// parameters.
func parsePowerShell(data []byte) (Settings, error) {
	block := powerShellBlock.FindSubmatch(data)
	if block == nil {
		return Settings{}, errors.New("there is no <powershell> block")
	}
	// A backtick at the end of a line continues it.
	script := strings.ReplaceAll(strings.ReplaceAll(string(block[1]), "\r\n", "\n"), "`\n", " ")
	call, ok := powerShellCall(script)
	if !ok {
		return Settings{}, errors.New(windowsScript + " is not called")
	}
	var settings Settings
	for _, parameter := range powerShellParameter.FindAllStringSubmatch(call, -1) {
		if err := settings.applyPowerShellParameter(parameter[1], powerShellValue(parameter[2])); err != nil {
			return Settings{}, fmt.Errorf("parameter -%s: %w", parameter[1], err)
		}
	}
	if settings.ClusterName == "" {
		return Settings{}, errors.New("parameter -EKSClusterName is missing")
	}
	return settings, nil
}

// powerShellCall returns the line that calls the bootstrap script (& path …), by
// its path or by a variable that holds it.
func powerShellCall(script string) (line string, ok bool) {
	callees := []string{windowsScript}
	if variable := powerShellPath.FindStringSubmatch(script); variable != nil {
		callees = append(callees, variable[1])
	}
	for line := range strings.SplitSeq(script, "\n") {
		called, isCall := strings.CutPrefix(strings.TrimSpace(line), "&")
		if !isCall {
			continue
		}
		for _, callee := range callees {
			if _, arguments, found := strings.Cut(called, callee); found {
				return arguments, true
			}
		}
	}
	return "", false
}

func powerShellValue(token string) string {
	switch token[0] {
	case '\'':
		return strings.ReplaceAll(token[1:len(token)-1], "''", "'")
	case '"':
		return powerShellEscape.ReplaceAllString(token[1:len(token)-1], "$1")
	}
	return token
}

// applyPowerShellParameter sets one parameter; their names ignore case.
func (s *Settings) applyPowerShellParameter(name, value string) error {
	var err error
	switch strings.ToLower(name) {
	case "eksclustername":
		s.ClusterName = value
	case "apiserverendpoint":
		s.Endpoint = value
	case "base64clusterca":
		s.CA, err = decodeCA(value)
	case "dnsclusterip":
		s.Kubelet.ClusterDNS = strings.Split(value, ",")
	case "servicecidr":
		s.ServiceCIDR = value
	case "kubeletextraargs":
		err = s.Kubelet.applyArguments(value)
	}
	return err
}
