package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/google/go-cmp/cmp"
)

// filler fills SDK types with distinct values, so that two members that are
// mixed up show.
type filler struct{ next int64 }

func (f *filler) fill(v reflect.Value) {
	f.next++
	switch {
	case v.Type() == timeType:
		v.Set(reflect.ValueOf(time.UnixMilli(1_700_000_000_000 + f.next*1000).UTC()))
		return
	case v.Type() == bytesType:
		v.SetBytes(fmt.Append(nil, f.next))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if onWire(v.Type().Field(i)) {
				f.fill(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		f.fill(v.Index(0))
		f.fill(v.Index(1))
	case reflect.Map:
		value := reflect.New(v.Type().Elem()).Elem()
		f.fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("key").Convert(v.Type().Key()), value)
	case reflect.String:
		v.SetString(fmt.Sprintf("text <&> %d", f.next))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64:
		v.SetInt(f.next)
	case reflect.Float64:
		v.SetFloat(float64(f.next) + 0.5)
	case reflect.Interface: // a union or document: not used by the calls here
	default:
		panic("fill " + v.Type().String())
	}
}

// exchange is an HTTP transport that keeps the request's body and gives a
// canned answer.
type exchange struct {
	sent   []byte
	answer []byte
}

func (e *exchange) Do(r *http.Request) (*http.Response, error) {
	var err error
	if r.Body != nil {
		if e.sent, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/xml"}}, Body: io.NopCloser(bytes.NewReader(e.answer)), Request: r}, nil
}

// equal compares what travels of two SDK values.
func equal(t *testing.T, want, got any) {
	t.Helper()
	everything := cmp.Exporter(func(reflect.Type) bool { return true })
	noMetadata := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".ResultMetadata" }, cmp.Ignore())
	if diff := cmp.Diff(want, got, everything, noMetadata); diff != "" {
		t.Errorf("round trip (-want +got):\n%s", diff)
	}
}

// call makes a call of a client with a filled input and returns the input, the
// output that was served and the one that the client read.
func call(t *testing.T, client any, e *exchange, name string, encode func(output any) []byte) (input, served, read any) {
	t.Helper()
	method := reflect.ValueOf(client).MethodByName(name)
	if !method.IsValid() {
		t.Fatalf("the client has no call %s", name)
	}
	in, out := reflect.New(method.Type().In(1).Elem()), reflect.New(method.Type().Out(0).Elem())
	f := &filler{}
	f.fill(in.Elem())
	f.fill(out.Elem())
	e.answer = encode(out.Interface())
	results := method.Call([]reflect.Value{reflect.ValueOf(t.Context()), in})
	if err, _ := reflect.TypeAssert[error](results[1]); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return in.Interface(), out.Interface(), results[0].Interface()
}

func config(e *exchange) aws.Config {
	return aws.Config{
		Region: "eu-west-1", HTTPClient: e, BaseEndpoint: aws.String("http://127.0.0.1:1"), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""),
	}
}

func testQueryRoundTrip(t *testing.T, dialect Dialect, client any, e *exchange, frame string, names []string) {
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			input, served, read := call(t, client, e, name, func(output any) []byte {
				var b bytes.Buffer
				if err := dialect.EncodeXML(&b, output); err != nil {
					t.Fatal(err)
				}
				return fmt.Appendf(nil, strings.ReplaceAll(frame, "NAME", name), b.String())
			})
			form, err := url.ParseQuery(string(e.sent))
			if err != nil {
				t.Fatal(err)
			}
			decoded := reflect.New(reflect.TypeOf(input).Elem()).Interface()
			if err := dialect.DecodeForm(form, decoded); err != nil {
				t.Fatal(err)
			}
			equal(t, input, decoded)
			equal(t, served, read)
		})
	}
}

func TestEC2RoundTrip(t *testing.T) {
	e := &exchange{}
	testQueryRoundTrip(t, EC2(), ec2.NewFromConfig(config(e)), e, "<NAMEResponse>%s</NAMEResponse>", []string{
		"DescribeInstanceTypes", "DescribeInstanceTypeOfferings", "DescribeAvailabilityZones", "DescribeSubnets", "DescribeSecurityGroups",
		"DescribeImages", "DescribeSpotPriceHistory", "CreateLaunchTemplate", "DescribeLaunchTemplates", "DescribeLaunchTemplateVersions", "DeleteLaunchTemplate",
		"CreateFleet", "RunInstances", "DescribeInstances", "TerminateInstances", "CreateTags", "DeleteTags",
	})
}

func TestIAMRoundTrip(t *testing.T) {
	e := &exchange{}
	testQueryRoundTrip(t, Query(), iam.NewFromConfig(config(e)), e, "<NAMEResponse><NAMEResult>%s</NAMEResult></NAMEResponse>", []string{
		"CreateRole", "GetRole", "ListRoles", "TagRole", "ListRoleTags", "GetRolePolicy", "ListRolePolicies",
		"ListAttachedRolePolicies", "CreateOpenIDConnectProvider", "GetOpenIDConnectProvider", "ListOpenIDConnectProviders", "GetInstanceProfile", "ListInstanceProfilesForRole",
	})
}

func TestSTSRoundTrip(t *testing.T) {
	e := &exchange{}
	testQueryRoundTrip(t, Query(), sts.NewFromConfig(config(e)), e, "<NAMEResponse><NAMEResult>%s</NAMEResult></NAMEResponse>", []string{
		"GetCallerIdentity", "AssumeRole", "AssumeRoleWithWebIdentity",
	})
}

func TestJSONRoundTrip(t *testing.T) {
	e := &exchange{}
	for _, name := range []string{"DescribeCluster", "CreateAccessEntry", "ListNodegroups"} {
		t.Run(name, func(t *testing.T) {
			_, served, read := call(t, eks.NewFromConfig(config(e)), e, name, func(output any) []byte {
				text, err := CamelNames.EncodeJSON(output)
				if err != nil {
					t.Fatal(err)
				}
				return text
			})
			equal(t, served, read)
		})
	}
}

func TestDecodeFormRefuses(t *testing.T) {
	cases := map[string]struct {
		name, value string
		want        error
	}{
		"unknown parameter":     {"Colour", "red", &UnknownParameterError{Name: "Colour"}},
		"unknown member":        {"TargetCapacitySpecification.Colour", "red", &UnknownParameterError{Name: "TargetCapacitySpecification.Colour"}},
		"index that is none":    {"TagSpecification.x.ResourceType", "fleet", &UnknownParameterError{Name: "TagSpecification.x"}},
		"index out of bounds":   {"TagSpecification.10001.ResourceType", "fleet", &UnknownParameterError{Name: "TagSpecification.10001"}},
		"integer that is none":  {"TargetCapacitySpecification.TotalTargetCapacity", "many", &InvalidParameterError{Name: "TargetCapacitySpecification.TotalTargetCapacity", Value: "many", Want: "an integer"}},
		"integer too large":     {"TargetCapacitySpecification.TotalTargetCapacity", "9999999999", &InvalidParameterError{Name: "TargetCapacitySpecification.TotalTargetCapacity", Value: "9999999999", Want: "an integer"}},
		"boolean that is none":  {"DryRun", "perhaps", &InvalidParameterError{Name: "DryRun", Value: "perhaps", Want: "a boolean"}},
		"time that is none":     {"ValidFrom", "today", &InvalidParameterError{Name: "ValidFrom", Value: "today", Want: "an ISO 8601 time"}},
		"protocol's parameters": {"Action", "CreateFleet", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := EC2().DecodeForm(url.Values{tc.name: {tc.value}}, &ec2.CreateFleetInput{})
			if diff := cmp.Diff(fmt.Sprint(tc.want), fmt.Sprint(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
	var unknown *UnknownParameterError
	if err := EC2().DecodeForm(url.Values{"X": {"1"}}, &ec2.CreateFleetInput{}); !errors.As(err, &unknown) {
		t.Errorf("error = %T", err)
	}
}

func TestDecodeJSONRefuses(t *testing.T) {
	if err := DecodeJSON([]byte(`{"name":`), &eks.DescribeClusterInput{}); err == nil {
		t.Error("half a document was accepted")
	}
}
