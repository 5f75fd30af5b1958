package connect_test

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/middleware"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/connect"
)

// isolate keeps the machine's own AWS settings away.
func isolate(t *testing.T) {
	t.Helper()
	for _, name := range []string{
		"AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_STS", "AWS_ROLE_ARN",
		"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
	} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "config"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "credentials"))
}

func TestLoadNeedsARegion(t *testing.T) {
	isolate(t)
	if _, err := connect.Load(t.Context(), connect.Settings{}); err == nil || !strings.Contains(err.Error(), "no region") {
		t.Errorf("error = %v, want one about the region", err)
	}
}

func TestSettingsComeBeforeTheEnvironment(t *testing.T) {
	isolate(t)
	t.Setenv("AWS_REGION", "us-east-1")
	cfg, err := connect.Load(t.Context(), connect.Settings{Region: "eu-west-1"})
	if err != nil || cfg.Region != "eu-west-1" {
		t.Errorf("region = %q, %v, want eu-west-1", cfg.Region, err)
	}
}

// Every client that is made from the configuration, in whatever package, asks where
// the settings say, and where the environment says for services that they leave out.
func TestEndpointsComeBeforeTheEnvironment(t *testing.T) {
	isolate(t)
	t.Setenv("AWS_ENDPOINT_URL", "http://everywhere")
	services := map[string]func(aws.Config) *string{
		"ec2":     func(c aws.Config) *string { return ec2.NewFromConfig(c).Options().BaseEndpoint },
		"eks":     func(c aws.Config) *string { return eks.NewFromConfig(c).Options().BaseEndpoint },
		"events":  func(c aws.Config) *string { return eventbridge.NewFromConfig(c).Options().BaseEndpoint },
		"iam":     func(c aws.Config) *string { return iam.NewFromConfig(c).Options().BaseEndpoint },
		"pricing": func(c aws.Config) *string { return pricing.NewFromConfig(c).Options().BaseEndpoint },
		"sqs":     func(c aws.Config) *string { return sqs.NewFromConfig(c).Options().BaseEndpoint },
		"ssm":     func(c aws.Config) *string { return ssm.NewFromConfig(c).Options().BaseEndpoint },
		"sts":     func(c aws.Config) *string { return sts.NewFromConfig(c).Options().BaseEndpoint },
	}
	for service, endpoint := range services {
		for _, set := range []string{service, "another"} {
			cfg, err := connect.Load(t.Context(), connect.Settings{Region: "eu-west-1", Endpoints: map[string]string{set: "http://" + set}})
			if err != nil {
				t.Fatal(err)
			}
			want := "http://everywhere"
			if set == service {
				want = "http://" + service
			}
			if got := aws.ToString(endpoint(cfg)); got != want {
				t.Errorf("%s with an endpoint for %s: %q, want %q", service, set, got, want)
			}
		}
	}
}

// An endpoint may accept connections and never answer. A caller that has set no limit does not wait for ever.
func TestEveryCallHasADeadline(t *testing.T) {
	isolate(t)
	cfg, err := connect.Load(t.Context(), connect.Settings{Region: "eu-west-1"})
	if err != nil {
		t.Fatal(err)
	}
	errAsked := errors.New("asked")
	limit := time.Duration(0) // 0 is none
	cfg.APIOptions = append(cfg.APIOptions, func(stack *middleware.Stack) error {
		return stack.Serialize.Add(middleware.SerializeMiddlewareFunc("Watch", func(ctx context.Context, _ middleware.SerializeInput, _ middleware.SerializeHandler) (
			out middleware.SerializeOutput, metadata middleware.Metadata, err error,
		) {
			limit = 0
			if deadline, ok := ctx.Deadline(); ok {
				limit = time.Until(deadline)
			}
			return out, metadata, errAsked
		}), middleware.Before)
	})
	calls := map[string]func(context.Context) error{
		"DeleteQueue": func(ctx context.Context) error {
			_, err := sqs.NewFromConfig(cfg).DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: aws.String("https://queue")})
			return err
		},
		"RemoveTargets": func(ctx context.Context) error {
			_, err := eventbridge.NewFromConfig(cfg).RemoveTargets(ctx, &eventbridge.RemoveTargetsInput{Rule: aws.String("a"), Ids: []string{"b"}})
			return err
		},
		"GetRole": func(ctx context.Context) error {
			_, err := iam.NewFromConfig(cfg).GetRole(ctx, &iam.GetRoleInput{RoleName: aws.String("a")})
			return err
		},
	}
	synctest.Test(t, func(t *testing.T) {
		patient, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		for name, ask := range calls {
			if err := ask(t.Context()); !errors.Is(err, errAsked) || limit != time.Minute {
				t.Errorf("%s: the limit is %v, %v", name, limit, err)
			}
			want := time.Hour
			if name == "GetRole" { // a read
				want = time.Minute
			}
			if err := ask(patient); !errors.Is(err, errAsked) || limit != want {
				t.Errorf("%s with a limit of its caller: %v, %v", name, limit, err)
			}
		}
	})
}

// credentialsOfAPod is a variable that tells the test binary to be a pod with EKS Pod Identity.
const credentialsOfAPod = "PACKHORSE_TEST_CREDENTIALS_OF_A_POD"

// A request for the credentials of a pod has its token, and is answered on its own node only. A proxy must not see it. Go
// reads the variables of a proxy once, so that the pod is a process of its own.
func TestCredentialsOfAPodDoNotComeThroughAProxy(t *testing.T) {
	if os.Getenv(credentialsOfAPod) != "" {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		cfg, err := connect.Load(ctx, connect.Settings{Region: "eu-west-1"})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := cfg.Credentials.Retrieve(ctx); err == nil {
			t.Errorf("credentials %s", got.AccessKeyID)
		}
		return
	}
	isolate(t)
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String()+" "+r.Header.Get("Authorization"))
		fmt.Fprint(w, `{"AccessKeyId": "A", "SecretAccessKey": "s", "Token": "t"}`)
	}))
	for name, value := range map[string]string{
		credentialsOfAPod: "true", "HTTP_PROXY": proxy.URL, "NO_PROXY": "10.0.0.0/8",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://169.254.170.23/v1/credentials", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "secret",
	} {
		t.Setenv(name, value)
	}
	printed, err := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$").CombinedOutput()
	proxy.Close()
	if err != nil || len(asked) > 0 {
		t.Errorf("the proxy was asked for %q: %v\n%s", asked, err, printed)
	}
}

// answer is what STS says to both ways of assuming a role.
const answer = `<%[1]sResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><%[1]sResult><Credentials>
<AccessKeyId>ASSUMED</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>%[2]s</Expiration>
</Credentials></%[1]sResult></%[1]sResponse>`

// securityTokens is an STS that records what it is asked.
func securityTokens(t *testing.T) (url string, asked *[]string) {
	t.Helper()
	asked = &[]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r.FormValue("Action")+" "+r.FormValue("RoleArn")+" "+r.FormValue("RoleSessionName")+" "+r.FormValue("ExternalId")+" "+r.FormValue("DurationSeconds"))
		w.Header().Set("Content-Type", "text/xml")
		fmt.Fprintf(w, answer, r.FormValue("Action"), time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

func TestRoleIsAssumedAtTheGivenEndpoint(t *testing.T) {
	isolate(t)
	url, asked := securityTokens(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "a")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "b")
	cfg, err := connect.Load(t.Context(), connect.Settings{
		Region: "eu-west-1", Endpoints: map[string]string{"sts": url},
		Role: &connect.Role{ARN: "arn:role", SessionName: "me", ExternalID: "x", Duration: 30 * time.Minute},
	})
	if err != nil {
		t.Fatal(err)
	}
	credentials, err := cfg.Credentials.Retrieve(t.Context())
	if err != nil || credentials.AccessKeyID != "ASSUMED" {
		t.Errorf("credentials = %q, %v", credentials.AccessKeyID, err)
	}
	if want := "AssumeRole arn:role me x 1800"; len(*asked) != 1 || (*asked)[0] != want {
		t.Errorf("STS was asked %q, want %q", *asked, want)
	}
}

func TestWebIdentityFollowsTheGeneralEndpoint(t *testing.T) {
	isolate(t)
	url, asked := securityTokens(t)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("jwt"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_ENDPOINT_URL", url)
	t.Setenv("AWS_REGION", "eu-west-1")
	t.Setenv("AWS_ROLE_ARN", "arn:role")
	t.Setenv("AWS_ROLE_SESSION_NAME", "me")
	t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", token)
	cfg, err := connect.Load(t.Context(), connect.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	credentials, err := cfg.Credentials.Retrieve(t.Context())
	if err != nil || credentials.AccessKeyID != "ASSUMED" {
		t.Errorf("credentials = %q, %v", credentials.AccessKeyID, err)
	}
	if len(*asked) != 1 || !strings.HasPrefix((*asked)[0], "AssumeRoleWithWebIdentity arn:role me") {
		t.Errorf("STS was asked %q", *asked)
	}
}

// A proxy that inspects TLS, or an endpoint in a private network, has a certificate that only AWS_CA_BUNDLE vouches for.
func TestWebIdentityTrustsTheBundle(t *testing.T) {
	isolate(t)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/xml")
		fmt.Fprintf(w, answer, r.FormValue("Action"), time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	}))
	t.Cleanup(server.Close)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	for variable, content := range map[string][]byte{"AWS_WEB_IDENTITY_TOKEN_FILE": []byte("jwt"), "AWS_CA_BUNDLE": certificate} {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv(variable, file)
	}
	t.Setenv("AWS_ROLE_ARN", "arn:role")
	cfg, err := connect.Load(t.Context(), connect.Settings{Region: "eu-west-1", Endpoints: map[string]string{"sts": server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	if credentials, err := cfg.Credentials.Retrieve(t.Context()); err != nil || credentials.AccessKeyID != "ASSUMED" {
		t.Errorf("credentials = %q, %v", credentials.AccessKeyID, err)
	}
}

// Credentials are not used in their last minutes: AWS refuses them if the clock is behind.
func TestCredentialsAreReplacedBeforeTheyExpire(t *testing.T) {
	for name, role := range map[string]*connect.Role{"a web identity": nil, "an assumed role": {ARN: "arn:other"}} {
		t.Run(name, func(t *testing.T) {
			isolate(t)
			asked := map[string]int{} // by action
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				action := r.FormValue("Action")
				asked[action]++
				w.Header().Set("Content-Type", "text/xml")
				fmt.Fprintf(w, answer, action, time.Now().Add(4*time.Minute).UTC().Format(time.RFC3339))
			}))
			t.Cleanup(server.Close)
			token := filepath.Join(t.TempDir(), "token")
			if err := os.WriteFile(token, []byte("jwt"), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", token)
			t.Setenv("AWS_ROLE_ARN", "arn:role")
			cfg, err := connect.Load(t.Context(), connect.Settings{Region: "eu-west-1", Role: role, Endpoints: map[string]string{"sts": server.URL}})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if _, err := cfg.Credentials.Retrieve(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			for action, times := range asked {
				if times != 2 {
					t.Errorf("%s was called %d times, want twice", action, times)
				}
			}
		})
	}
}

// EKS Pod Identity: an agent on the node hands out credentials for a token that is
// in a file, which is read again each time.
func TestPodIdentity(t *testing.T) {
	isolate(t)
	token := filepath.Join(t.TempDir(), "token")
	var asked []string
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header.Get("Authorization"))
		ends := time.Now().Add(-time.Second).UTC().Format(time.RFC3339) // so that each use asks again
		fmt.Fprintf(w, `{"AccessKeyId":"POD","SecretAccessKey":"s","Token":"t","Expiration":%q}`, ends)
	}))
	t.Cleanup(node.Close)
	t.Setenv("AWS_REGION", "eu-west-1")
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", node.URL+"/v1/credentials")
	t.Setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", token)
	cfg, err := connect.Load(t.Context(), connect.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"first", "second"} {
		if err := os.WriteFile(token, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		credentials, err := cfg.Credentials.Retrieve(t.Context())
		if err != nil || credentials.AccessKeyID != "POD" {
			t.Fatalf("credentials = %q, %v", credentials.AccessKeyID, err)
		}
	}
	if len(asked) != 2 || asked[0] != "first" || asked[1] != "second" {
		t.Errorf("tokens = %q", asked)
	}
}
