package cloud

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/wire"
)

// received is a request before it is decoded.
type received struct {
	request *http.Request
	body    []byte
	form    url.Values        // of a query request
	labels  map[string]string // of a REST request: path labels and query
}

// protocol is how a service is spoken to.
type protocol interface {
	decode(r *received, input any) error
	encode(caller *call, output any) ([]byte, error)
	answer(w http.ResponseWriter, caller *call, body []byte)
	refuse(w http.ResponseWriter, caller *call, problem *apiError)
}

// queryProtocol is spoken by EC2, IAM and STS.
type queryProtocol struct {
	dialect   wire.Dialect
	namespace string
	wrapped   bool // IAM and STS put the output into an element of its own
}

func (p queryProtocol) decode(r *received, input any) error {
	err := p.dialect.DecodeForm(r.form, input)
	var unknown *wire.UnknownParameterError
	var invalid *wire.InvalidParameterError
	switch {
	case errors.As(err, &unknown):
		return fail("UnknownParameter", "%s", unknown.Error())
	case errors.As(err, &invalid):
		return fail("InvalidParameterValue", "%s", invalid.Error())
	}
	return err
}

func (p queryProtocol) encode(caller *call, output any) ([]byte, error) {
	var content bytes.Buffer
	if err := p.dialect.EncodeXML(&content, output); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n")
	fmt.Fprintf(&b, `<%sResponse xmlns="%s">`, caller.action, p.namespace)
	if p.wrapped {
		fmt.Fprintf(&b, "<%sResult>%s</%sResult>", caller.action, content.Bytes(), caller.action)
		fmt.Fprintf(&b, "<ResponseMetadata><RequestId>%s</RequestId></ResponseMetadata>", caller.requestID)
	} else {
		fmt.Fprintf(&b, "<requestId>%s</requestId>%s", caller.requestID, content.Bytes())
	}
	fmt.Fprintf(&b, "</%sResponse>", caller.action)
	return b.Bytes(), nil
}

func (p queryProtocol) answer(w http.ResponseWriter, _ *call, body []byte) {
	write(w, http.StatusOK, "text/xml;charset=UTF-8", body)
}

func (p queryProtocol) refuse(w http.ResponseWriter, caller *call, problem *apiError) {
	code, message := wire.EscapeXML(problem.code), wire.EscapeXML(problem.message)
	var text string
	if p.wrapped {
		text = fmt.Sprintf(`<ErrorResponse xmlns="%s"><Error><Type>Sender</Type><Code>%s</Code><Message>%s</Message></Error><RequestId>%s</RequestId></ErrorResponse>`,
			p.namespace, code, message, caller.requestID)
	} else {
		text = fmt.Sprintf(`<Response><Errors><Error><Code>%s</Code><Message>%s</Message></Error></Errors><RequestID>%s</RequestID></Response>`,
			code, message, caller.requestID)
	}
	write(w, problem.status, "text/xml;charset=UTF-8", []byte(text))
}

// jsonProtocol is spoken by SSM, Pricing and SQS, and with REST paths by EKS.
type jsonProtocol struct {
	names       wire.JSONNames
	contentType string
}

func (p jsonProtocol) decode(r *received, input any) error {
	if len(r.labels) == 0 {
		return malformedJSON(wire.DecodeJSON(r.body, input))
	}
	merged := map[string]any{}
	if len(r.body) > 0 {
		if err := json.Unmarshal(r.body, &merged); err != nil {
			return malformedJSON(err)
		}
	}
	for name, value := range r.labels {
		merged[name] = value
		if number, err := strconv.Atoi(value); err == nil && name == "maxResults" {
			merged[name] = number
		}
	}
	if keys := r.request.URL.Query()["tagKeys"]; len(keys) > 0 {
		merged["tagKeys"] = keys // the one list that comes as a query
	}
	text, err := json.Marshal(merged)
	if err != nil {
		return err
	}
	return malformedJSON(wire.DecodeJSON(text, input))
}

func malformedJSON(err error) error {
	if err != nil {
		return fail("SerializationException", "%s", err)
	}
	return nil
}

func (p jsonProtocol) encode(_ *call, output any) ([]byte, error) {
	return p.names.EncodeJSON(output)
}

func (p jsonProtocol) answer(w http.ResponseWriter, caller *call, body []byte) {
	w.Header().Set("X-Amzn-RequestId", caller.requestID)
	write(w, http.StatusOK, p.contentType, body)
}

func (p jsonProtocol) refuse(w http.ResponseWriter, caller *call, problem *apiError) {
	text, _ := json.Marshal(map[string]string{"__type": problem.code, "message": problem.message}) // strings always marshal
	w.Header().Set("X-Amzn-RequestId", caller.requestID)
	w.Header().Set("X-Amzn-ErrorType", problem.code)
	write(w, problem.status, p.contentType, text)
}

func write(w http.ResponseWriter, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have gone; there is nobody to tell
}

// mergeQuery adds the first value of each query parameter to labels.
func mergeQuery(labels map[string]string, query url.Values) map[string]string {
	merged := maps.Clone(labels)
	for name, values := range query {
		merged[name] = values[0]
	}
	return merged
}
