package origin

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
)

// An API server is that of a cluster if they share a CA certificate or the issuer. If neither can be compared, nothing
// speaks against it.
func TestCheck(t *testing.T) {
	const own, other = "https://oidc.eks.eu-west-1.amazonaws.com/id/AAAA", "https://oidc.eks.eu-west-1.amazonaws.com/id/BBBB"
	answer := http.StatusOK
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/.well-known/openid-configuration" || answer != http.StatusOK {
			w.WriteHeader(answer)
			return
		}
		_, _ = w.Write([]byte(`{"issuer": "` + own + `"}`))
	}))
	defer server.Close()
	encoded := func(der string) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte(der)})
	}
	ca := encoded(string(server.Certificate().Raw))
	bundle := append(encoded("another"), ca...)
	file := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(file, ca, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		tls     rest.TLSClientConfig
		cluster asset.Cluster
		answer  int
		want    string // part of the error
	}{
		"the CA is the same":                {tls: rest.TLSClientConfig{CAData: ca}, cluster: asset.Cluster{CA: ca, Issuer: other}},
		"the CA of a file is the same":      {tls: rest.TLSClientConfig{CAFile: file}, cluster: asset.Cluster{CA: ca, Issuer: other}},
		"the CA is one of several":          {tls: rest.TLSClientConfig{CAData: bundle}, cluster: asset.Cluster{CA: ca, Issuer: other}},
		"another CA, such as of a proxy":    {tls: rest.TLSClientConfig{CAData: ca}, cluster: asset.Cluster{CA: encoded("x"), Issuer: own}},
		"another CA and another issuer":     {tls: rest.TLSClientConfig{CAData: ca}, cluster: asset.Cluster{CA: encoded("x"), Issuer: other}, want: "its issuer is " + own + ", and that of the cluster " + other},
		"another CA and no right":           {tls: rest.TLSClientConfig{CAData: ca}, cluster: asset.Cluster{CA: encoded("x"), Issuer: own}, answer: http.StatusForbidden, want: "its issuer could not be compared"},
		"another CA and no issuer in EKS":   {tls: rest.TLSClientConfig{CAData: ca}, cluster: asset.Cluster{CA: encoded("x")}, want: "EKS reports no issuer"},
		"no CA and another issuer":          {tls: rest.TLSClientConfig{Insecure: true}, cluster: asset.Cluster{CA: ca, Issuer: other}, want: "is not that of EKS cluster \"prod\""},
		"no CA and the same issuer":         {tls: rest.TLSClientConfig{Insecure: true}, cluster: asset.Cluster{CA: ca, Issuer: own}},
		"nothing to compare":                {tls: rest.TLSClientConfig{Insecure: true}, cluster: asset.Cluster{CA: ca, Issuer: own}, answer: http.StatusForbidden},
		"the file of the CA is not there":   {tls: rest.TLSClientConfig{CAFile: file + "x"}, cluster: asset.Cluster{CA: ca}, want: "no such file"},
		"several certificates on each side": {tls: rest.TLSClientConfig{CAData: append([]byte("# ours\n"), bundle...)}, cluster: asset.Cluster{CA: append(encoded("old"), ca...)}},
	} {
		t.Run(name, func(t *testing.T) {
			answer = http.StatusOK
			if c.answer != 0 {
				answer = c.answer
			}
			c.cluster.Name = "prod"
			err := Check(t.Context(), &rest.Config{Host: server.URL, TLSClientConfig: c.tls}, &c.cluster)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error is %v, want %q", err, c.want)
			}
		})
	}
}
