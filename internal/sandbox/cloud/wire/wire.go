// Package wire translates between AWS's wire protocols and the input and output
// types of aws-sdk-go-v2, by reflection over those types. It is the server's
// side of what the SDK does for clients: form-encoded query in and XML out for
// EC2, IAM and STS, JSON in and out for the others.
package wire

//go:generate go run ./wiregen -o ec2names.go DescribeInstanceTypes DescribeInstanceTypeOfferings DescribeAvailabilityZones DescribeSubnets DescribeSecurityGroups DescribeImages DescribeSpotPriceHistory CreateLaunchTemplate DescribeLaunchTemplates DescribeLaunchTemplateVersions DeleteLaunchTemplate CreateFleet RunInstances DescribeInstances TerminateInstances CreateTags DeleteTags CreateCapacityReservation CancelCapacityReservation DescribeCapacityReservations

import (
	"reflect"
	"time"
	"unicode"
)

// Dialect is one of the two query protocols: they differ in the names of
// fields and in how a list is written.
type Dialect struct {
	requestNames  map[string]string // Type.Field to parameter name
	responseNames map[string]string // Type.Field to element name
	listLevel     string            // between a list's name and its index in a request; empty if flat
	itemNames     map[string]string // Type.Field of a list to the element around its items
	listItem      string            // that element for all other lists
	lowerFirst    bool              // elements begin with a lower-case letter
}

// EC2 is the dialect of EC2: flat lists in requests, <item> in responses.
func EC2() Dialect {
	return Dialect{requestNames: ec2RequestNames, responseNames: ec2ResponseNames, itemNames: ec2ItemNames, listItem: "item", lowerFirst: true}
}

// Query is the dialect of IAM and STS: lists have a "member" level.
func Query() Dialect {
	names := map[string]string{"PolicyDescriptorType.Arn": "arn"}
	return Dialect{requestNames: names, listLevel: "member", listItem: "member"}
}

func (d Dialect) requestName(owner reflect.Type, field string) string {
	if name, ok := d.requestNames[owner.Name()+"."+field]; ok {
		return name
	}
	return field
}

func (d Dialect) responseName(owner reflect.Type, field string) string {
	if name, ok := d.responseNames[owner.Name()+"."+field]; ok {
		return name
	}
	if d.lowerFirst {
		return lowerFirst(field)
	}
	return field
}

func (d Dialect) itemName(owner reflect.Type, field string) string {
	if name, ok := d.itemNames[owner.Name()+"."+field]; ok {
		return name
	}
	return d.listItem
}

func lowerFirst(name string) string {
	runes := []rune(name)
	runes[0] = unicode.ToLower(runes[0])
	return string(runes)
}

// onWire tells whether a field of an SDK type travels: the SDK's own
// bookkeeping does not.
func onWire(f reflect.StructField) bool {
	return f.IsExported() && f.Name != "ResultMetadata"
}

var (
	timeType  = reflect.TypeFor[time.Time]()
	bytesType = reflect.TypeFor[[]byte]()
)
