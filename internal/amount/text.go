package amount

import (
	"fmt"
	"strconv"
	"strings"
)

// Text spells an amount the way people write it: cores with at most three digits
// after the point ("382.87"), bytes in the largest binary unit that keeps them
// readable ("16Gi", "7.5Gi", "512Mi"), everything else as a count.
func Text(name string, v int64) string {
	switch {
	case name == CPU:
		return trimmed(float64(v)/1000, 3)
	case inBytes(name):
		return bytes(v)
	}
	return strconv.FormatInt(v, 10)
}

// Phrase spells an amount together with what it is an amount of: "9 CPU",
// "40Gi memory", "2 GPUs (nvidia.com/gpu)".
func Phrase(name string, v int64) string {
	text := Text(name, v)
	if strings.HasSuffix(text, " bytes") {
		text += " of"
	}
	switch {
	case name == CPU:
		return text + " CPU"
	case name == EphemeralStorage:
		return text + " ephemeral storage"
	case name == Nodes && v == 1:
		return "1 node"
	case name == Pods && v == 1:
		return "room for 1 pod"
	case name == Pods:
		return "room for " + text + " pods"
	case strings.HasSuffix(name, "/gpu") && v == 1:
		return "1 GPU (" + name + ")"
	case strings.HasSuffix(name, "/gpu"):
		return text + " GPUs (" + name + ")"
	}
	return text + " " + name
}

func inBytes(name string) bool {
	return name == Memory || name == EphemeralStorage || strings.HasPrefix(name, "hugepages-")
}

// bytes rounds to two digits after the point.
func bytes(v int64) string {
	for _, u := range []struct {
		name string
		size int64
	}{{"Ti", 1 << 40}, {"Gi", 1 << 30}, {"Mi", 1 << 20}, {"Ki", 1 << 10}} {
		if v >= u.size || -v >= u.size {
			return trimmed(float64(v)/float64(u.size), 2) + u.name
		}
	}
	if v == 0 {
		return "0"
	}
	return strconv.FormatInt(v, 10) + " bytes"
}

// trimmed writes at most so many digits after the point.
func trimmed(v float64, digits int) string {
	text := fmt.Sprintf("%.*f", digits, v)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}
