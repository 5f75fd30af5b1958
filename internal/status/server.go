package status

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
)

// Server serves a status: as a page on /, and as JSON on /status.json. It changes
// nothing.
type Server struct {
	// Source returns the status. What it returned is not changed.
	Source func() *Status
	// Cluster and Version are added to it.
	Cluster, Version string
	// Local: only who asks for localhost or an address is answered, so that no page
	// from elsewhere can read it by giving a name of its own to this machine.
	Local bool
}

// Handler serves it.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.serve("text/html; charset=utf-8", (*Status).HTML))
	mux.HandleFunc("GET /status.json", s.serve("application/json", func(status *Status) ([]byte, error) { return json.Marshal(status) }))
	return s.guard(mux)
}

// serve answers with the status in a form.
func (s *Server) serve(kind string, render func(*Status) ([]byte, error)) http.HandlerFunc {
	last := &rendered{render: render}
	return func(w http.ResponseWriter, r *http.Request) {
		body, tag, err := last.of(s)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		answer(w, r, kind, body, tag)
	}
}

// rendered is a status in a form, which is made once for all who ask before the status changes.
type rendered struct {
	render func(*Status) ([]byte, error)

	mu     sync.Mutex // held while it is made
	status *Status
	body   []byte
	tag    string
}

func (r *rendered) of(s *Server) (body []byte, tag string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	latest := s.Source()
	if latest == r.status {
		return r.body, r.tag, nil
	}
	complete := *latest
	complete.Cluster, complete.Version = s.Cluster, s.Version
	if body, err = r.render(&complete); err != nil {
		return nil, "", err
	}
	r.status, r.body, r.tag = latest, body, `"`+digest(string(body))+`"`
	return r.body, r.tag, nil
}

// policy lets the page run its own script, which may ask this server, and nothing
// else.
var policy = fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; script-src 'sha256-%s'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	digest(string(style())), digest(pageScript))

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// answer sends a body, or that it has not changed.
func answer(w http.ResponseWriter, r *http.Request, kind string, body []byte, tag string) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("ETag", tag)
	h.Set("Cache-Control", "no-cache")
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", kind)
	_, _ = w.Write(body) // the reader has gone: nobody is left to tell
}

// guard adds what keeps other pages out.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.Local && !local(r.Host) {
			http.Error(w, fmt.Sprintf("host %q is not served: ask for localhost, or give --status-address an address that is not of this machine alone", r.Host), http.StatusMisdirectedRequest)
			return
		}
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		next.ServeHTTP(w, r)
	})
}

// local reports whether a request's host is localhost or an address.
func local(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	return host == "localhost" || net.ParseIP(host) != nil
}

// Loopback reports whether what listens on an address is reached from its own
// machine only.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}
