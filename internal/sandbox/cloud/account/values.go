package account

import (
	"encoding/base64"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Deref returns what p points to, or the zero value if it is nil: optional
// members of SDK types are pointers.
func Deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// SortedKeys returns the keys of a map in ascending order.
func SortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}

// NilIfEmpty returns nil for the empty string, so that the field is absent.
func NilIfEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Page returns the part of items that begins where token says, and the token
// of the next part. Without maxResults a page has the size of limit. A part without items
// is not nil, since AWS answers with an empty list where there is nothing.
func Page[T any](items []T, token *string, maxResults *int32, limit int) ([]T, *string, error) {
	size := limit
	if maxResults != nil {
		if *maxResults < 1 {
			return nil, nil, Fail("InvalidParameterValue", "Value ( %d ) for parameter maxResults is invalid.", *maxResults)
		}
		size = min(limit, int(*maxResults))
	}
	offset := 0
	if Deref(token) != "" {
		text, err := base64.StdEncoding.DecodeString(*token)
		number, isOurs := strings.CutPrefix(string(text), tokenPrefix)
		parsed, parseErr := strconv.Atoi(number)
		if err != nil || !isOurs || parseErr != nil || parsed < 0 {
			return nil, nil, Fail("InvalidNextToken", "The token '%s' is invalid.", *token)
		}
		offset = min(parsed, len(items))
	}
	end := min(offset+size, len(items))
	part := append([]T{}, items[offset:end]...)
	if end == len(items) {
		return part, nil, nil
	}
	next := base64.StdEncoding.EncodeToString([]byte(tokenPrefix + strconv.Itoa(end)))
	return part, &next, nil
}

// TextMember reads a string member of an input by name; it is empty if the
// input has none.
func TextMember(input any, name string) string {
	field := reflect.ValueOf(input).Elem().FieldByName(name)
	if !field.IsValid() || field.Kind() != reflect.Pointer || field.IsNil() {
		return ""
	}
	return field.Elem().String()
}

// Retag sets and removes tags in place, unless there would be too many, or a key is
// invalid. Those that AWS itself has set stay.
func Retag(tags, set map[string]string, remove []string) error {
	after := maps.Clone(tags)
	maps.Copy(after, set)
	maps.DeleteFunc(after, func(key, _ string) bool { _, changes := set[key]; return reserved(key) && !changes })
	if err := CheckTags(after); err != nil {
		return err
	}
	for _, key := range remove {
		if reserved(key) {
			return Fail("InvalidInput", "The tag key '%s' is invalid.", key)
		}
	}
	maps.Copy(tags, set)
	for _, key := range remove {
		delete(tags, key)
	}
	return nil
}

// reserved reports whether only AWS itself sets tags with the key.
func reserved(key string) bool { return strings.HasPrefix(strings.ToLower(key), "aws:") }

// CheckTags reports as an *APIError, in IAM's words, that there are more than MaxTags tags
// or that a key is empty, longer than 128 bytes or reserved for AWS.
func CheckTags(tags map[string]string) error {
	if len(tags) > MaxTags {
		return Fail("LimitExceeded", "Cannot exceed quota for TagsPerRole: %d", MaxTags).With(http.StatusConflict)
	}
	for key := range tags {
		if key == "" || len(key) > 128 || reserved(key) {
			return Fail("InvalidInput", "The tag key '%s' is invalid.", key)
		}
	}
	return nil
}

// IAMARN returns the ARN of a resource of IAM in the account, such as "role/path/name".
func (c *Account) IAMARN(resource string) string {
	return "arn:aws:iam::" + c.AccountID + ":" + resource
}

const tokenPrefix = "offset:"

// MaxTags is how many tags a resource may have.
const MaxTags = 50
