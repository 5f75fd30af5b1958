package plane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Authenticator says whom a bearer token belongs to. An error means that the token
// is not valid.
type Authenticator func(ctx context.Context, token string) (username string, groups []string, err error)

// tokenReviewBytes bounds the body of a TokenReview.
const tokenReviewBytes = 1 << 20

// tokenWebhook answers the API server's TokenReviews on a loopback port, as EKS's
// own authenticator does.
type tokenWebhook struct {
	server   *http.Server
	listener net.Listener
}

func startTokenWebhook(authenticate Authenticator, logger hclog.Logger) (*tokenWebhook, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
	if err != nil {
		return nil, fmt.Errorf("listen for token reviews: %w", err)
	}
	w := &tokenWebhook{
		listener: listener,
		server:   &http.Server{Handler: reviewTokens(authenticate, logger), ReadHeaderTimeout: 5 * time.Second},
	}
	go func() {
		if err := w.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			logger.Error("token webhook stopped", "error", err)
		}
	}()
	return w, nil
}

func (w *tokenWebhook) url() string { return "http://" + w.listener.Addr().String() }

func (w *tokenWebhook) stop() error { return w.server.Close() }

// reviewTokens answers TokenReview requests of authentication.k8s.io/v1.
func reviewTokens(authenticate Authenticator, logger hclog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review authenticationv1.TokenReview
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, tokenReviewBytes)).Decode(&review); err != nil {
			http.Error(w, "decode TokenReview: "+err.Error(), http.StatusBadRequest)
			return
		}
		answer := authenticationv1.TokenReview{
			TypeMeta: metav1.TypeMeta{APIVersion: authenticationv1.SchemeGroupVersion.String(), Kind: "TokenReview"},
		}
		username, groups, err := authenticate(r.Context(), review.Spec.Token)
		if err != nil {
			answer.Status.Error = err.Error()
			logger.Debug("token was refused", "error", err)
		} else {
			answer.Status.Authenticated = true
			answer.Status.User = authenticationv1.UserInfo{Username: username, UID: username, Groups: groups}
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			logger.Debug("token review was not answered", "error", err)
		}
	})
}
