// Package sigv4 checks AWS Signature Version 4 on requests that a server
// receives: signed headers and presigned URLs.
package sigv4

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

const (
	algorithm  = "AWS4-HMAC-SHA256"
	timeLayout = "20060102T150405Z"
)

var (
	// ErrUnsigned means that the request carries no signature at all.
	ErrUnsigned = errors.New("the request is not signed")
	// ErrMismatch means that the signature is not the one that the secret gives.
	ErrMismatch = errors.New("the request signature we calculated does not match the signature you provided")
)

// Claims is what a signature says about itself, before it is verified.
type Claims struct {
	AccessKeyID   string
	SessionToken  string
	Date          time.Time
	Expires       time.Duration // of a presigned URL; zero otherwise
	Region        string
	Service       string
	SignedHeaders []string
	signature     string
	presigned     bool
}

// Parse reads the claims from the Authorization header or, for a presigned
// URL, from the query.
func Parse(r *http.Request) (Claims, error) {
	if header := r.Header.Get("Authorization"); header != "" {
		return parseHeader(r, header)
	}
	if query := r.URL.Query(); query.Get("X-Amz-Signature") != "" {
		return parseQuery(query)
	}
	return Claims{}, ErrUnsigned
}

func parseHeader(r *http.Request, header string) (Claims, error) {
	fields, found := strings.CutPrefix(header, algorithm+" ")
	if !found {
		return Claims{}, fmt.Errorf("authorization is not of the form %s", algorithm)
	}
	c := Claims{SessionToken: r.Header.Get("X-Amz-Security-Token")}
	var credential string
	for field := range strings.SplitSeq(fields, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		switch name {
		case "Credential":
			credential = value
		case "SignedHeaders":
			c.SignedHeaders = strings.Split(value, ";")
		case "Signature":
			c.signature = value
		}
	}
	return c.complete(credential, r.Header.Get("X-Amz-Date"))
}

func parseQuery(query url.Values) (Claims, error) {
	if got := query.Get("X-Amz-Algorithm"); got != algorithm {
		return Claims{}, fmt.Errorf("algorithm %q is not %s", got, algorithm)
	}
	c := Claims{
		SessionToken:  query.Get("X-Amz-Security-Token"),
		SignedHeaders: strings.Split(query.Get("X-Amz-SignedHeaders"), ";"),
		signature:     query.Get("X-Amz-Signature"),
		presigned:     true,
	}
	if text := query.Get("X-Amz-Expires"); text != "" {
		seconds, err := strconv.Atoi(text)
		if err != nil || seconds < 0 {
			return Claims{}, fmt.Errorf("X-Amz-Expires %q is not a number of seconds", text)
		}
		c.Expires = time.Duration(seconds) * time.Second
	}
	return c.complete(query.Get("X-Amz-Credential"), query.Get("X-Amz-Date"))
}

func (c Claims) complete(credential, date string) (Claims, error) {
	parts := strings.Split(credential, "/")
	if len(parts) != 5 || parts[4] != "aws4_request" {
		return Claims{}, fmt.Errorf("credential %q is not KEY/DATE/REGION/SERVICE/aws4_request", credential)
	}
	when, err := time.Parse(timeLayout, date)
	if err != nil {
		return Claims{}, fmt.Errorf("date %q: %w", date, err)
	}
	if parts[1] != when.Format("20060102") {
		return Claims{}, fmt.Errorf("credential scope %s is not of the day of %s", parts[1], date)
	}
	if !slices.Contains(c.SignedHeaders, "host") {
		return Claims{}, errors.New("the host header is not signed")
	}
	c.AccessKeyID, c.Region, c.Service, c.Date = parts[0], parts[2], parts[3], when
	return c, nil
}

// Verify signs the request again with secret and compares. The body is that
// of the request, which must have been read already.
func (c Claims) Verify(r *http.Request, body []byte, secret string) error {
	again, err := c.sign(c.signed(r), body, secret)
	if err != nil {
		return fmt.Errorf("sign the request again: %w", err)
	}
	if !hmac.Equal([]byte(again.signature), []byte(c.signature)) {
		return ErrMismatch
	}
	return nil
}

// signed returns what of a request is signed.
func (c Claims) signed(r *http.Request) *http.Request {
	out := r.Clone(r.Context())
	out.Header, out.ContentLength = http.Header{}, 0
	for _, name := range c.SignedHeaders {
		switch name {
		case "host": // is always signed
		case "content-length":
			out.ContentLength = r.ContentLength
		default:
			out.Header[http.CanonicalHeaderKey(name)] = r.Header.Values(name)
		}
	}
	if c.presigned {
		query := out.URL.Query()
		query.Del("X-Amz-Signature")
		out.URL.RawQuery = query.Encode()
	}
	return out
}

// sign signs the request as the claims say, and returns what the signature then says.
func (c Claims) sign(r *http.Request, body []byte, secret string) (Claims, error) {
	// The session token, where it is signed, is in the request already.
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableSessionToken, o.DisableHeaderHoisting = true, true })
	credentials := aws.Credentials{AccessKeyID: c.AccessKeyID, SecretAccessKey: secret}
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:])
	if !c.presigned {
		if err := signer.SignHTTP(r.Context(), credentials, r, hash, c.Service, c.Region, c.Date); err != nil {
			return Claims{}, err
		}
		return Parse(r)
	}
	text, _, err := signer.PresignHTTP(r.Context(), credentials, r, hash, c.Service, c.Region, c.Date)
	if err != nil {
		return Claims{}, err
	}
	signed, err := url.Parse(text)
	if err != nil {
		return Claims{}, err
	}
	return parseQuery(signed.Query())
}
