package cloud

import (
	"net/http"
	"net/url"
	"strings"
)

// The Version parameter of a query request, or the prefix of X-Amz-Target,
// names the service; a REST request is recognised by its path.
const (
	ec2Version = "2016-11-15"
	iamVersion = "2010-05-08"
	stsVersion = "2011-06-15"
)

func serviceOfVersion(version string) string {
	switch version {
	case ec2Version:
		return "ec2"
	case iamVersion:
		return "iam"
	case stsVersion:
		return "sts"
	case autoscalingVersion:
		return "autoscaling"
	}
	return ""
}

func serviceOfTarget(prefix string) string {
	switch prefix {
	case "AmazonSSM":
		return "ssm"
	case "AWSPriceListService":
		return "pricing"
	case "AmazonSQS":
		return "sqs"
	case "AWSEvents":
		return "events"
	}
	return ""
}

// route finds the service and the name of the call; the service is nil if it
// is none of ours.
func (c *Cloud) route(r *http.Request, body []byte) (*service, string, *received) {
	received := &received{request: r, body: body}
	if target := r.Header.Get("X-Amz-Target"); target != "" {
		prefix, name, _ := strings.Cut(target, ".")
		return c.services[serviceOfTarget(prefix)], name, received
	}
	if name, labels := eksRoute(r.Method, r.URL); name != "" {
		received.labels = mergeQuery(labels, r.URL.Query())
		return c.services["eks"], name, received
	}
	received.form = r.URL.Query()
	if r.Method == http.MethodPost {
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return nil, "", received
		}
		received.form = form
	}
	return c.services[serviceOfVersion(received.form.Get("Version"))], received.form.Get("Action"), received
}
