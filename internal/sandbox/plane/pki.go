package plane

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// certificateLifetime is far beyond any run: nothing here is renewed.
const certificateLifetime = 365 * 24 * time.Hour

// identity is a certificate with its private key.
type identity struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

// newAuthority makes a self-signed certificate authority.
func newAuthority(commonName string) (*identity, error) {
	template := certificateTemplate(pkix.Name{CommonName: commonName})
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage |= x509.KeyUsageCertSign
	return sign(template, nil)
}

// issueClient makes a client certificate: the API server takes the common name as
// the user and the organisations as the groups.
func (id *identity) issueClient(user string, groups ...string) (*identity, error) {
	template := certificateTemplate(pkix.Name{CommonName: user, Organization: groups})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return sign(template, id)
}

// issueServer makes a serving certificate for the API server's loopback address
// and for the names under which pods know it.
func (id *identity) issueServer(commonName string) (*identity, error) {
	template := certificateTemplate(pkix.Name{CommonName: commonName})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
	template.IPAddresses = []net.IP{net.ParseIP(loopback), net.ParseIP(kubernetesServiceIP)}
	return sign(template, id)
}

func certificateTemplate(subject pkix.Name) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes([]byte(rand.Text())),
		Subject:      subject,
		// An hour of leeway for clocks that are set back during the run.
		NotBefore: now.Add(-time.Hour),
		NotAfter:  now.Add(certificateLifetime),
		KeyUsage:  x509.KeyUsageDigitalSignature,
	}
}

// sign makes a key for the template and has it signed by issuer, or by itself
// when issuer is nil.
func sign(template *x509.Certificate, issuer *identity) (*identity, error) {
	name := template.Subject.CommonName
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate key of %s: %w", name, err)
	}
	if issuer == nil {
		issuer = &identity{certificate: template, key: key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer.certificate, key.Public(), issuer.key)
	if err != nil {
		return nil, fmt.Errorf("sign certificate of %s: %w", name, err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("parse certificate of %s: %w", name, err)
	}
	return &identity{certificate: certificate, key: key}, nil
}

func (id *identity) certificatePEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: id.certificate.Raw})
}

func (id *identity) keyPEM() ([]byte, error) { return privateKeyPEM(id.key) }

// write stores the pair as NAME.crt and NAME.key in dir.
func (id *identity) write(dir, name string) error {
	key, err := id.keyPEM()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, name+".crt"), id.certificatePEM(), 0o600); err != nil {
		return fmt.Errorf("write certificate of %s: %w", name, err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".key"), key, 0o600); err != nil {
		return fmt.Errorf("write key of %s: %w", name, err)
	}
	return nil
}

func privateKeyPEM(key any) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode private key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// writeServiceAccountKeys stores the pair that signs and verifies ServiceAccount
// tokens. It is RSA because EKS signs with RS256.
func writeServiceAccountKeys(privatePath, publicPath string) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return fmt.Errorf("generate service account key: %w", err)
	}
	private, err := privateKeyPEM(key)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("encode service account key: %w", err)
	}
	if err := os.WriteFile(privatePath, private, 0o600); err != nil {
		return fmt.Errorf("write service account key: %w", err)
	}
	if err := os.WriteFile(publicPath, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), 0o600); err != nil {
		return fmt.Errorf("write service account key: %w", err)
	}
	return nil
}
