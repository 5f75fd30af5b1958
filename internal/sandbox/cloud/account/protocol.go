package account

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

// Received is a request before it is decoded.
type Received struct {
	Request *http.Request
	body    []byte
	form    url.Values        // of a query request
	labels  map[string]string // of a REST request: path labels and query
}

// protocol is how a service is spoken to.
type protocol interface {
	decode(r *Received, input any) error
	encode(caller *Caller, output any) ([]byte, error)
	answer(w http.ResponseWriter, caller *Caller, body []byte)
	refuse(w http.ResponseWriter, caller *Caller, problem *APIError)
}

// QueryProtocol is spoken by EC2, IAM and STS.
type QueryProtocol struct {
	Dialect   wire.Dialect
	Namespace string
	Wrapped   bool // IAM and STS put the output into an element of its own
}

func (p QueryProtocol) decode(r *Received, input any) error {
	err := p.Dialect.DecodeForm(r.form, input)
	var unknown *wire.UnknownParameterError
	var invalid *wire.InvalidParameterError
	switch {
	case errors.As(err, &unknown):
		return Fail("UnknownParameter", "%s", unknown.Error())
	case errors.As(err, &invalid):
		return Fail("InvalidParameterValue", "%s", invalid.Error())
	}
	return err
}

func (p QueryProtocol) encode(caller *Caller, output any) ([]byte, error) {
	var content bytes.Buffer
	if err := p.Dialect.EncodeXML(&content, output); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n")
	fmt.Fprintf(&b, `<%sResponse xmlns="%s">`, caller.action, p.Namespace)
	if p.Wrapped {
		fmt.Fprintf(&b, "<%sResult>%s</%sResult>", caller.action, content.Bytes(), caller.action)
		fmt.Fprintf(&b, "<ResponseMetadata><RequestId>%s</RequestId></ResponseMetadata>", caller.requestID)
	} else {
		fmt.Fprintf(&b, "<requestId>%s</requestId>%s", caller.requestID, content.Bytes())
	}
	fmt.Fprintf(&b, "</%sResponse>", caller.action)
	return b.Bytes(), nil
}

func (p QueryProtocol) answer(w http.ResponseWriter, _ *Caller, body []byte) {
	Write(w, http.StatusOK, "text/xml;charset=UTF-8", body)
}

func (p QueryProtocol) refuse(w http.ResponseWriter, caller *Caller, problem *APIError) {
	code, message := wire.EscapeXML(problem.Code), wire.EscapeXML(problem.Message)
	var text string
	if p.Wrapped {
		text = fmt.Sprintf(`<ErrorResponse xmlns="%s"><Error><Type>Sender</Type><Code>%s</Code><Message>%s</Message></Error><RequestId>%s</RequestId></ErrorResponse>`,
			p.Namespace, code, message, caller.requestID)
	} else {
		text = fmt.Sprintf(`<Response><Errors><Error><Code>%s</Code><Message>%s</Message></Error></Errors><RequestID>%s</RequestID></Response>`,
			code, message, caller.requestID)
	}
	Write(w, problem.status, "text/xml;charset=UTF-8", []byte(text))
}

// JSONProtocol is spoken by SSM, Pricing and SQS, and with REST paths by EKS.
type JSONProtocol struct {
	Names       wire.JSONNames
	ContentType string
	// QueryCodes are the codes that errors had in the query protocol, by those that they
	// have now. A service that spoke it before sends both, and clients report the old one.
	QueryCodes map[string]string
}

func (p JSONProtocol) decode(r *Received, input any) error {
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
	if keys := r.Request.URL.Query()["tagKeys"]; len(keys) > 0 {
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
		return Fail("SerializationException", "%s", err)
	}
	return nil
}

func (p JSONProtocol) encode(_ *Caller, output any) ([]byte, error) {
	return p.Names.EncodeJSON(output)
}

func (p JSONProtocol) answer(w http.ResponseWriter, caller *Caller, body []byte) {
	w.Header().Set("X-Amzn-RequestId", caller.requestID)
	Write(w, http.StatusOK, p.ContentType, body)
}

func (p JSONProtocol) refuse(w http.ResponseWriter, caller *Caller, problem *APIError) {
	text, _ := json.Marshal(map[string]string{"__type": problem.Code, "message": problem.Message}) // strings always marshal
	w.Header().Set("X-Amzn-RequestId", caller.requestID)
	w.Header().Set("X-Amzn-ErrorType", problem.Code)
	if code, had := p.QueryCodes[problem.Code]; had {
		w.Header().Set("X-Amzn-Query-Error", code+";Sender")
	}
	Write(w, problem.status, p.ContentType, text)
}

// Write answers a request with a status and a body. It does not report that the client
// has gone.
func Write(w http.ResponseWriter, status int, contentType string, body []byte) {
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
