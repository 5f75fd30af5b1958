package api

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// span is a range of whole numbers with both ends; the zero value means "not
// supported".
type span struct{ low, high int64 }

// volumeLimits are the limits of an EBS volume type.
type volumeLimits struct {
	size       span // GiB
	iops       span
	throughput span // MiB/s
}

const defaultVolumeType = "gp3"

// volumeTypes lists the volume types, the usual ones first.
var volumeTypes = []string{"gp3", "gp2", "io2", "io1", "st1", "sc1", "standard"}

// limitsOfVolumes are those that AWS publishes in "Amazon EBS volume types".
var limitsOfVolumes = map[string]volumeLimits{
	"gp2":      {size: span{1, 16384}},
	"gp3":      {size: span{1, 65536}, iops: span{3000, 80000}, throughput: span{125, 2000}},
	"io1":      {size: span{4, 16384}, iops: span{100, 64000}},
	"io2":      {size: span{4, 65536}, iops: span{100, 256000}},
	"sc1":      {size: span{125, 16384}},
	"st1":      {size: span{125, 16384}},
	"standard": {size: span{1, 1024}},
}

func validateVolumes(mappings []BlockDeviceMapping, path *field.Path) Findings {
	var errs Findings
	devices, root := map[string]bool{}, false
	for i, m := range mappings {
		at := path.Index(i)
		device := ptr.Deref(m.DeviceName, "")
		switch {
		case device == "":
			errs = append(errs, required(at.Child("deviceName"), say("the name of the device"), say("set it, such as /dev/xvda")))
		case devices[device]:
			errs = append(errs, duplicate(at.Child("deviceName"), device, none))
		}
		devices[device] = true
		if ptr.Deref(m.RootVolume, false) {
			if root {
				errs = append(errs, invalid(at.Child("rootVolume"), true, say("a machine has one root volume, and an earlier entry is it"), say("remove %s from one of them", fieldIn(at, "rootVolume"))))
			}
			root = true
		}
		if m.EBS == nil {
			errs = append(errs, required(at.Child("ebs"), say("what the volume is"), say("set its %s, such as 20Gi, or remove the entry", fieldIn(at, "ebs", "volumeSize"))))
			continue
		}
		errs = append(errs, validateVolume(m.EBS, at.Child("ebs"))...)
	}
	return errs
}

func validateVolume(v *BlockDevice, path *field.Path) Findings {
	kind := ptr.Deref(v.VolumeType, defaultVolumeType)
	limits, known := limitsOfVolumes[kind]
	if !known {
		return Findings{unsupported(path.Child("volumeType"), kind, volumeTypes)}
	}
	var errs Findings
	switch {
	case v.VolumeSize != nil:
		errs = append(errs, validateVolumeSize(*v.VolumeSize, kind, limits.size, path.Child("volumeSize"))...)
	case v.SnapshotID == nil:
		errs = append(errs, required(path.Child("volumeSize"), say("a volume needs a size unless it has a %s", fieldIn(path, "snapshotID")), say("set it, such as 20Gi")))
	}
	errs = append(errs, notEmpty(v.SnapshotID, path.Child("snapshotID"))...)
	errs = append(errs, validatePerformance(v.IOPS, kind, limits.iops, path, "iops")...)
	errs = append(errs, validatePerformance(v.Throughput, kind, limits.throughput, path, "throughput")...)
	if v.IOPS == nil && (kind == "io1" || kind == "io2") {
		errs = append(errs, required(path.Child("iops"), say("%s has no default", kind), say("set it, from %d to %d", limits.iops.low, limits.iops.high)))
	}
	return errs
}

// validateVolumeSize compares in whole GiB, the unit of EBS. What is far less than
// one was meant in another unit, most likely that one, and no machine comes up with it.
func validateVolumeSize(size resource.Quantity, kind string, allowed span, path *field.Path) Findings {
	gib := VolumeGiB(size)
	const smallest = 1_000_000_000 // 1G, which is rounded up
	if gib >= allowed.low && gib <= allowed.high && size.Value() >= smallest {
		return nil
	}
	if meant := leadingNumber(size.String()); size.Value() < smallest && meant >= allowed.low && meant <= allowed.high {
		what := size.String()
		if what == strconv.FormatInt(meant, 10) {
			what += " bytes"
		}
		return Findings{invalid(path, size.String(), say("%s takes from %dGi to %dGi, and this is %s", kind, allowed.low, allowed.high, what), say("did you mean \"%dGi\"?", meant))}
	}
	return Findings{invalid(path, size.String(), say("%s takes from %dGi to %dGi", kind, allowed.low, allowed.high), say("the nearest valid value is %dGi", min(max(gib, allowed.low), allowed.high)))}
}

// leadingNumber is the number that a quantity begins with; 0 where it has none.
func leadingNumber(quantity string) int64 {
	number, err := strconv.ParseInt(strings.TrimRight(quantity, "kKMGTPEie"), 10, 64)
	if err != nil {
		return 0
	}
	return number
}

// VolumeGiB is a volume's size in GiB, the unit of EBS, rounded up.
func VolumeGiB(size resource.Quantity) int64 {
	const gib = 1 << 30
	bytes := size.Value()
	whole := bytes / gib
	if bytes%gib > 0 {
		whole++
	}
	return whole
}

func validatePerformance(value *int64, kind string, allowed span, volume *field.Path, name string) Findings {
	path := volume.Child(name)
	if value != nil && allowed == (span{}) {
		return Findings{forbidden(path, say("cannot be set on %s volumes", kind), say("remove it, or set %s to gp3", fieldIn(volume, "volumeType")))}
	}
	return within(value, allowed.low, allowed.high, path)
}
