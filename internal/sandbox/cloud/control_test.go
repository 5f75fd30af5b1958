package cloud

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/google/go-cmp/cmp"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
	ec2model "github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2"
)

func TestFaults(t *testing.T) {
	f, ctx := start(t), t.Context()
	describe := func() string {
		_, err := f.ec2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{})
		return codeOf(err)
	}
	remove := f.cloud.Inject(account.Fault{Service: "ec2", Action: "DescribeSecurityGroups", Code: "RequestLimitExceeded", Times: 2})
	if got := []string{describe(), describe(), describe()}; !cmp.Equal(got, []string{"RequestLimitExceeded", "RequestLimitExceeded", ""}) {
		t.Errorf("a fault for two calls gave %v", got)
	}
	remove()
	remove = f.cloud.Inject(account.Fault{Service: "*", Action: "*", Code: "InternalError"})
	if got := describe(); got != "InternalError" {
		t.Errorf("a fault of everything gave %q", got)
	}
	_, err := f.iam.GetRole(ctx, &iam.GetRoleInput{RoleName: aws.String("packhorse-node")})
	wantCode(t, err, "InternalError")
	remove()
	if got := describe(); got != "" {
		t.Errorf("a lifted fault gave %q", got)
	}
	f.cloud.Inject(account.Fault{Action: "DescribeSecurityGroups", Code: "Unavailable", Rate: 0.5})
	struck := 0
	for range 40 {
		if describe() != "" {
			struck++
		}
	}
	if struck == 0 || struck == 40 {
		t.Errorf("a fault of half the calls struck %d of 40", struck)
	}
	f.cloud.Inject(account.Fault{Action: "GetCallerIdentity", Latency: 30 * time.Millisecond})
	began := time.Now()
	must2(f.sts.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{}))(t)
	if took := time.Since(began); took < 30*time.Millisecond {
		t.Errorf("a call with 30 ms of latency took %s", took)
	}
}

func TestThrottle(t *testing.T) {
	f := start(t)
	now := time.Now()
	f.cloud.Wall = func() time.Time { return now }
	f.cloud.SetThrottle("ec2", "DescribeSecurityGroups", 1, 2)
	describe := func() string {
		_, err := f.ec2.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{})
		return codeOf(err)
	}
	got := []string{describe(), describe(), describe()}
	now = now.Add(time.Second)
	got = append(got, describe(), describe())
	if diff := cmp.Diff([]string{"", "", "RequestLimitExceeded", "", "RequestLimitExceeded"}, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	f.cloud.SetThrottle("ec2", "DescribeSecurityGroups", 0, 0)
	if got := describe(); got != "" {
		t.Errorf("without a limit: %s", got)
	}
}

func TestCalls(t *testing.T) {
	f := start(t)
	_, err := f.ec2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{SubnetIds: []string{"subnet-1"}})
	wantCode(t, err, "InvalidSubnetID.NotFound")
	_, err = newClients(f.url, "none", "none", "").sts.GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	wantCode(t, err, "InvalidClientTokenId")
	calls := f.cloud.Calls()
	for i := range calls {
		if calls[i].Duration <= 0 {
			t.Errorf("call %d took %s", i, calls[i].Duration)
		}
		calls[i].Duration = 0
	}
	want := []account.Call{
		{Time: f.clock.Now(), Service: "ec2", Action: "DescribeSubnets", Principal: "arn:aws:iam::123456789012:user/admin", ErrorCode: "InvalidSubnetID.NotFound"},
		{Time: f.clock.Now(), Service: "sts", Action: "GetCallerIdentity", ErrorCode: "InvalidClientTokenId"},
	}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// ask makes a request to the control port and reads the answer into into.
func ask(t *testing.T, method, url, body string, into any) int {
	t.Helper()
	request := must2(http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body)))(t)
	response := must2(http.DefaultClient.Do(request))(t)
	defer response.Body.Close()
	text := must2(io.ReadAll(response.Body))(t)
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%s %s answered %s: %v", method, url, text, err)
	}
	return response.StatusCode
}

func TestControlPort(t *testing.T) {
	f := start(t)
	f.template(t, "nodes")
	server := httptest.NewServer(f.cloud.ControlHandler())
	t.Cleanup(server.Close)
	var index map[string]string
	if ask(t, "GET", server.URL+"/", "", &index); index["POST /faults"] == "" || index["GET /ledger"] == "" {
		t.Errorf("index = %v", index)
	}
	var answer map[string]any
	for route, body := range map[string]string{
		"/capacity":  `{"instanceType":"m5.large","zone":"*","capacityType":"spot","machines":0}`,
		"/quota":     `{"capacityType":"on-demand","vcpus":2}`,
		"/subnets":   `{"subnet":"` + f.subnetIn(t, "a") + `","free":1}`,
		"/behaviour": `{"pendingDelay":"1h"}`,
		"/throttle":  `{"service":"ec2","action":"DescribeSecurityGroups","rate":1,"burst":1}`,
	} {
		if status := ask(t, "POST", server.URL+route, body, &answer); status != http.StatusOK {
			t.Errorf("POST %s: %d %v", route, status, answer)
		}
	}
	spot := must2(f.ec2.CreateFleet(t.Context(), f.fleet(t, 1, types.DefaultTargetCapacityTypeSpot, []string{"m5.large"}, "a")))(t)
	onDemand := must2(f.ec2.CreateFleet(t.Context(), f.fleet(t, 2, types.DefaultTargetCapacityTypeOnDemand, []string{"m5.large"}, "a")))(t)
	got := append(outcome(spot), outcome(onDemand)...)
	if diff := cmp.Diff([]string{"InsufficientInstanceCapacity m5.large", "1 m5.large eu-west-1a on-demand", "VcpuLimitExceeded m5.large"}, got); diff != "" {
		t.Errorf("fleets under the limits (-want +got):\n%s", diff)
	}
	f.clock.Step(time.Minute)
	var instances []ec2model.Instance
	ask(t, "GET", server.URL+"/instances", "", &instances)
	if len(instances) != 1 || instances[0].State != "pending" {
		t.Fatalf("instances = %+v, want one that is pending for an hour", instances)
	}
	ask(t, "POST", server.URL+"/instances/"+instances[0].ID+"/running", "", &answer)
	ask(t, "GET", server.URL+"/instances", "", &instances)
	if instances[0].State != "running" {
		t.Errorf("state = %s", instances[0].State)
	}
	var ledger ec2model.Ledger
	if ask(t, "GET", server.URL+"/ledger", "", &ledger); ledger.Running != 1 || ledger.HourlyMicros != 107_000 {
		t.Errorf("ledger = %+v", ledger)
	}
	var calls []account.Call
	if ask(t, "GET", server.URL+"/calls", "", &calls); len(calls) == 0 {
		t.Error("no calls")
	}
}

func TestControlPortFaults(t *testing.T) {
	f := start(t)
	server := httptest.NewServer(f.cloud.ControlHandler())
	t.Cleanup(server.Close)
	var made map[string]int
	ask(t, "POST", server.URL+"/faults", `{"service":"sts","code":"Throttling","latency":"1ms"}`, &made)
	_, err := f.sts.GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	wantCode(t, err, "Throttling")
	var answer map[string]any
	ask(t, "DELETE", server.URL+"/faults/1", "", &answer)
	_, err = f.sts.GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	wantCode(t, err, "")
	for route, body := range map[string]string{"POST /faults": `{"colour":"red"}`, "DELETE /faults/9": "", "DELETE /faults/x": "", "POST /subnets": `{"subnet":"none"}`, "POST /behaviour": `{"pendingDelay":"soon"}`} {
		method, path, _ := strings.Cut(route, " ")
		if status := ask(t, method, server.URL+path, body, &answer); status != http.StatusBadRequest || answer["error"] == nil {
			t.Errorf("%s: %d %v", route, status, answer)
		}
	}
}
