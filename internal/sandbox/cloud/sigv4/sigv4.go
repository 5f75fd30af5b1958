// Package sigv4 checks AWS Signature Version 4 on requests that a server
// receives: signed headers and presigned URLs.
// The algorithm is that of "Create a signed AWS API request" in the IAM user
// guide.
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
	want, err := hex.DecodeString(c.signature)
	if err != nil {
		return ErrMismatch
	}
	scope := strings.Join([]string{c.Date.Format("20060102"), c.Region, c.Service, "aws4_request"}, "/")
	toSign := strings.Join([]string{algorithm, c.Date.Format(timeLayout), scope, hexHash([]byte(c.canonical(r, body)))}, "\n")
	key := []byte("AWS4" + secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = mac(key, part)
	}
	if !hmac.Equal(mac(key, toSign), want) {
		return ErrMismatch
	}
	return nil
}

func (c Claims) canonical(r *http.Request, body []byte) string {
	var headers strings.Builder
	for _, name := range c.SignedHeaders {
		headers.WriteString(name + ":" + headerValue(r, name) + "\n")
	}
	return strings.Join([]string{
		r.Method,
		canonicalPath(r.URL),
		c.canonicalQuery(r.URL),
		headers.String(),
		strings.Join(c.SignedHeaders, ";"),
		hexHash(body),
	}, "\n")
}

func headerValue(r *http.Request, name string) string {
	switch name {
	case "host":
		return r.Host
	case "content-length":
		return strconv.FormatInt(r.ContentLength, 10)
	}
	trimmed := make([]string, 0, 1)
	for _, value := range r.Header.Values(name) {
		trimmed = append(trimmed, strings.Join(strings.Fields(value), " "))
	}
	return strings.Join(trimmed, ",")
}

// canonicalPath encodes the path a second time, as all services but S3 do.
func canonicalPath(u *url.URL) string {
	path := u.EscapedPath()
	if path == "" {
		return "/"
	}
	return escape(path, "/")
}

func (c Claims) canonicalQuery(u *url.URL) string {
	pairs := []string{}
	for name, values := range u.Query() {
		if c.presigned && name == "X-Amz-Signature" {
			continue
		}
		for _, value := range values {
			pairs = append(pairs, escape(name, "")+"="+escape(value, ""))
		}
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "&")
}

// escape percent-encodes every byte but the unreserved characters of RFC 3986
// and those in keep.
func escape(text, keep string) string {
	const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
	var b strings.Builder
	for i := range len(text) {
		if strings.IndexByte(unreserved, text[i]) >= 0 || strings.IndexByte(keep, text[i]) >= 0 {
			b.WriteByte(text[i])
		} else {
			fmt.Fprintf(&b, "%%%02X", text[i])
		}
	}
	return b.String()
}

func hexHash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
