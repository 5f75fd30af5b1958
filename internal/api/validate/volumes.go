package validate

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// span is a range of whole numbers with both ends; the zero value means "not
// supported".
type span struct{ low, high int64 }

// volumeLimits are the limits of an EBS volume type.
type volumeLimits struct {
	size       span // GiB
	iops       span
	throughput span  // MiB/s
	perGiB     int64 // the most IOPS for each GiB
}

// volumeTypes lists the volume types, the usual ones first.
var volumeTypes = []string{"gp3", "gp2", "io2", "io1", "st1", "sc1", "standard"}

// limitsOfVolumes are those that AWS publishes in "Amazon EBS volume types".
var limitsOfVolumes = map[string]volumeLimits{
	"gp2":      {size: span{1, 16384}},
	"gp3":      {size: span{1, 65536}, iops: span{3000, 80000}, throughput: span{125, 2000}, perGiB: 500},
	"io1":      {size: span{4, 16384}, iops: span{100, 64000}, perGiB: 50},
	"io2":      {size: span{4, 65536}, iops: span{100, 256000}, perGiB: 1000},
	"sc1":      {size: span{125, 16384}},
	"st1":      {size: span{125, 16384}},
	"standard": {size: span{1, 1024}},
}

// hardDisks are the volume types that EC2 boots no machine from.
var hardDisks = []string{"st1", "sc1"}

func validateVolumes(s *api.NodeProfile, path *field.Path) finding.List {
	var errs finding.List
	devices, root := map[string]bool{}, false
	for i, m := range s.BlockDeviceMappings {
		at := path.Index(i)
		device := ptr.Deref(m.DeviceName, "")
		switch {
		case device == "":
			errs = append(errs, finding.Required(at.Child("deviceName"), finding.Say("the name of the device"), finding.Say("set it, such as /dev/xvda")))
		case devices[device]:
			errs = append(errs, finding.Duplicate(at.Child("deviceName"), device, finding.None))
		}
		devices[device] = true
		if ptr.Deref(m.RootVolume, false) {
			if root {
				errs = append(errs, finding.Invalid(at.Child("rootVolume"), true, finding.Say("a machine has one root volume, and an earlier entry is it"), finding.Say("remove %s from one of them", finding.In(at, "rootVolume"))))
			}
			root = true
		}
		if m.EBS == nil {
			errs = append(errs, finding.Required(at.Child("ebs"), finding.Say("what the volume is"), finding.Say("set its %s, such as 20Gi, or remove the entry", finding.In(at, "ebs", "volumeSize"))))
			continue
		}
		found := validateVolume(m.EBS, at.Child("ebs"))
		// What a volume of an EC2NodeClass leaves out is left to the image.
		if len(found) == 0 && (s.Class == nil || m.EBS.VolumeType != nil && m.EBS.IOPS != nil) {
			found = validateRatios(m.EBS, at.Child("ebs"))
		}
		errs = append(errs, found...)
		if kind := ptr.Deref(m.EBS.VolumeType, ""); slices.Contains(hardDisks, kind) && (ptr.Deref(m.RootVolume, false) || device != "" && device == rootDevice(s)) {
			errs = append(errs, finding.Invalid(at.Child("ebs", "volumeType"), kind, finding.Say("a machine cannot boot from %s", kind), finding.Say("set gp3, or mount the volume as another device")))
		}
	}
	return errs
}

// rootDevice is the device that the images of the profile's family boot from. Images of the user's own may boot from
// another one.
func rootDevice(s *api.NodeProfile) string {
	volumes := offer.DefaultVolumes(ptr.Deref(s.AMIFamily, api.FamilyAL2023))
	if len(volumes) == 0 || len(s.ImageSelectors()) > 0 {
		return ""
	}
	return *volumes[0].DeviceName
}

func validateVolume(v *api.BlockDevice, path *field.Path) finding.List {
	kind := ptr.Deref(v.VolumeType, api.DefaultVolumeType)
	limits, known := limitsOfVolumes[kind]
	if !known {
		return finding.List{unsupported(path.Child("volumeType"), kind, volumeTypes)}
	}
	var errs finding.List
	switch {
	case v.VolumeSize != nil:
		errs = append(errs, validateVolumeSize(*v.VolumeSize, kind, limits.size, path.Child("volumeSize"))...)
	case v.SnapshotID == nil:
		errs = append(errs, finding.Required(path.Child("volumeSize"), finding.Say("a volume needs a size unless it has a %s", finding.In(path, "snapshotID")), finding.Say("set it, such as 20Gi")))
	}
	errs = append(errs, notEmpty(v.SnapshotID, path.Child("snapshotID"))...)
	errs = append(errs, validatePerformance(v.IOPS, kind, limits.iops, path, "iops")...)
	errs = append(errs, validatePerformance(v.Throughput, kind, limits.throughput, path, "throughput")...)
	if v.IOPS == nil && (kind == "io1" || kind == "io2") {
		errs = append(errs, finding.Required(path.Child("iops"), finding.Say("%s has no default", kind), finding.Say("set it, from %d to %d", limits.iops.low, limits.iops.high)))
	}
	return errs
}

// validateRatios compares the IOPS of a volume with its size, if the profile says it, and its throughput with its IOPS.
// Volumes of any size may have the least IOPS of their type.
func validateRatios(v *api.BlockDevice, path *field.Path) finding.List {
	kind := ptr.Deref(v.VolumeType, api.DefaultVolumeType)
	limits := limitsOfVolumes[kind]
	var errs finding.List
	if v.IOPS != nil && v.VolumeSize != nil {
		gib := api.VolumeGiB(*v.VolumeSize)
		if most := max(limits.iops.low, gib*limits.perGiB); *v.IOPS > most {
			needed := (*v.IOPS + limits.perGiB - 1) / limits.perGiB
			errs = append(errs, finding.Invalid(path.Child("iops"), *v.IOPS, finding.Say("%s with %dGi has at most %d", kind, gib, most),
				finding.Say("lower it, or set %s to %dGi", finding.In(path, "volumeSize"), needed)))
		}
	}
	const perThroughput = 4 // IOPS for each MiB/s
	iops := ptr.Deref(v.IOPS, limits.iops.low)
	if v.Throughput != nil && *v.Throughput*perThroughput > iops {
		errs = append(errs, finding.Invalid(path.Child("throughput"), *v.Throughput, finding.Say("a volume with %d %s has at most %d", iops, finding.In(path, "iops"), iops/perThroughput),
			finding.Say("lower it, or set %s to %d", finding.In(path, "iops"), *v.Throughput*perThroughput)))
	}
	return errs
}

// validateVolumeSize compares in whole GiB, the unit of EBS. What is far less than
// one was meant in another unit, most likely that one, and no machine comes up with it.
func validateVolumeSize(size resource.Quantity, kind string, allowed span, path *field.Path) finding.List {
	gib := api.VolumeGiB(size)
	const smallest = 1_000_000_000 // 1G, which is rounded up
	if gib >= allowed.low && gib <= allowed.high && size.Value() >= smallest {
		return nil
	}
	if meant := leadingNumber(size.String()); size.Value() < smallest && meant >= allowed.low && meant <= allowed.high {
		what := size.String()
		if what == strconv.FormatInt(meant, 10) {
			what += " bytes"
		}
		return finding.List{finding.Invalid(path, size.String(), finding.Say("%s takes from %dGi to %dGi, and this is %s", kind, allowed.low, allowed.high, what), finding.Say("did you mean \"%dGi\"?", meant))}
	}
	return finding.List{finding.Invalid(path, size.String(), finding.Say("%s takes from %dGi to %dGi", kind, allowed.low, allowed.high), finding.Say("the nearest valid value is %dGi", min(max(gib, allowed.low), allowed.high)))}
}

// leadingNumber is the number that a quantity begins with; 0 where it has none.
func leadingNumber(quantity string) int64 {
	number, err := strconv.ParseInt(strings.TrimRight(quantity, "kKMGTPEie"), 10, 64)
	if err != nil {
		return 0
	}
	return number
}

func validatePerformance(value *int64, kind string, allowed span, volume *field.Path, name string) finding.List {
	path := volume.Child(name)
	if value != nil && allowed == (span{}) {
		return finding.List{finding.Forbidden(path, finding.Say("cannot be set on %s volumes", kind), finding.Say("remove it, or set %s to gp3", finding.In(volume, "volumeType")))}
	}
	return within(value, allowed.low, allowed.high, path)
}
