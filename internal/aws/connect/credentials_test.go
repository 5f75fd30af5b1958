package connect

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
)

// watching is an HTTP client that notes the time limit of the first request, and fails.
type watching struct {
	asked bool
	limit time.Duration // 0 is none
}

func (w *watching) Do(r *http.Request) (*http.Response, error) {
	if deadline, ok := r.Context().Deadline(); ok && !w.asked {
		w.limit = time.Until(deadline)
	}
	w.asked = true
	return nil, errors.New("asked")
}

// All calls wait for one exchange of credentials, which the SDK makes without their deadlines. If it hung, so would they,
// until the process ends.
func TestExchangesOfCredentialsHaveADeadline(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("token"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_PROFILE": "", "AWS_CA_BUNDLE": "", "AWS_ENDPOINT_URL": "", "AWS_ENDPOINT_URL_STS": "",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
		"AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/agent", "AWS_WEB_IDENTITY_TOKEN_FILE": token,
	} {
		t.Setenv(name, value)
	}
	for name, endpoints := range map[string]map[string]string{"the public endpoint": nil, "one of one's own": {"sts": "https://sts.example.com"}} {
		synctest.Test(t, func(t *testing.T) {
			client := &watching{}
			settings := Settings{Region: "eu-west-1", Endpoints: endpoints}
			cfg, err := config.LoadDefaultConfig(t.Context(), append(settings.options(client), config.WithHTTPClient(client))...)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := cfg.Credentials.Retrieve(t.Context()); err == nil || !client.asked || client.limit != time.Minute {
				t.Errorf("%s: asked: %t, the limit is %v, %v", name, client.asked, client.limit, err)
			}
		})
	}
}
