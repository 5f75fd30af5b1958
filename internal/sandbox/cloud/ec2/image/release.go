package image

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
)

// Image is a public machine image for EKS nodes.
type Image struct {
	ID          string
	name        string
	description string
	owner       string // account id
	ownerAlias  string // empty for accounts outside Amazon
	Arch        string // "x86_64" or "arm64"
	Windows     bool
	created     time.Time
	RootDevice  string
	RootSizeGiB int32
	tags        map[string]string
	parameter   string // SSM parameter that names it; empty for an image that is not the newest
}

// The accounts that publish EKS images.
const (
	ownerEKS          = "602401143452"
	ownerBottlerocket = "092701018921"
	ownerCanonical    = "099720109477"
	ownerMicrosoft    = "801119661308"
	imageGeneration   = 30 * 24 * time.Hour // between one release and the next
)

// publicImages returns the images for the cluster's Kubernetes version and the
// two before it, each in its newest and the previous release.
func publicImages(version string, now time.Time) []*Image {
	var all []*Image
	newest := now.UTC().Truncate(24 * time.Hour).Add(-7 * 24 * time.Hour)
	for _, v := range versionsUpTo(version, 3) {
		for age := range 2 {
			released := newest.Add(-time.Duration(age) * imageGeneration)
			all = append(all, imagesOfRelease(v, released, age == 0)...)
		}
	}
	return all
}

// versionsUpTo returns count minor versions, the given one first.
func versionsUpTo(version string, count int) []string {
	major, minor, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(minor)
	if err != nil {
		return []string{version}
	}
	var versions []string
	for i := range count {
		if n-i >= 0 {
			versions = append(versions, fmt.Sprintf("%s.%d", major, n-i))
		}
	}
	return versions
}

func imagesOfRelease(version string, released time.Time, newest bool) []*Image {
	date := released.Format("20060102")
	r := release{version: version, created: released, label: date}
	images := r.amazonLinux2()
	images = append(images, r.amazonLinux2023()...)
	images = append(images, r.bottlerocket()...)
	images = append(images, r.ubuntu()...)
	images = append(images, r.windows()...)
	for _, im := range images {
		im.ID = account.FixedID("ami", im.name)
		im.created = released
		im.tags = map[string]string{}
		if !newest {
			im.parameter = ""
		}
	}
	return images
}

// release is one publication of all images for a Kubernetes version.
type release struct {
	version string
	created time.Time
	label   string // date
}

func (r release) amazonLinux2() []*Image {
	var images []*Image
	for _, v := range []struct{ name, parameter, arch string }{
		{"amazon-eks-node", "amazon-linux-2", "x86_64"},
		{"amazon-eks-gpu-node", "amazon-linux-2-gpu", "x86_64"},
		{"amazon-eks-arm64-node", "amazon-linux-2-arm64", "arm64"},
	} {
		images = append(images, &Image{
			name: fmt.Sprintf("%s-%s-v%s", v.name, r.version, r.label), description: "EKS Kubernetes Worker AMI with AmazonLinux2 image",
			owner: ownerEKS, ownerAlias: "amazon", Arch: v.arch, RootDevice: "/dev/xvda", RootSizeGiB: 20,
			parameter: fmt.Sprintf("/aws/service/eks/optimized-ami/%s/%s/recommended/image_id", r.version, v.parameter),
		})
	}
	return images
}

func (r release) amazonLinux2023() []*Image {
	var images []*Image
	for _, v := range []struct{ arch, variant string }{
		{"x86_64", "standard"}, {"arm64", "standard"}, {"x86_64", "nvidia"}, {"arm64", "nvidia"}, {"x86_64", "neuron"},
	} {
		images = append(images, &Image{
			name: fmt.Sprintf("amazon-eks-node-al2023-%s-%s-%s-v%s", v.arch, v.variant, r.version, r.label), description: "EKS-optimized Kubernetes node based on Amazon Linux 2023",
			owner: ownerEKS, ownerAlias: "amazon", Arch: v.arch, RootDevice: "/dev/xvda", RootSizeGiB: 20,
			parameter: fmt.Sprintf("/aws/service/eks/optimized-ami/%s/amazon-linux-2023/%s/%s/recommended/image_id", r.version, v.arch, v.variant),
		})
	}
	return images
}

func (r release) bottlerocket() []*Image {
	var images []*Image
	for _, variant := range []string{"", "-nvidia"} {
		for _, arch := range []string{"x86_64", "arm64"} {
			version := "1." + r.created.Format("06") + "." + strconv.Itoa(int(r.created.Month()))
			images = append(images, &Image{
				name: fmt.Sprintf("bottlerocket-aws-k8s-%s%s-%s-v%s-%s", r.version, variant, arch, version, r.label), description: "bottlerocket",
				owner: ownerBottlerocket, ownerAlias: "amazon", Arch: arch, RootDevice: "/dev/xvda", RootSizeGiB: 2,
				parameter: fmt.Sprintf("/aws/service/bottlerocket/aws-k8s-%s%s/%s/latest/image_id", r.version, variant, arch),
			})
		}
	}
	return images
}

func (r release) ubuntu() []*Image {
	var images []*Image
	for _, series := range []struct{ number, name, volume string }{{"22.04", "jammy", "ebs-gp2"}, {"24.04", "noble", "ebs-gp3"}} {
		for _, arch := range []struct{ ec2, ubuntu string }{{"x86_64", "amd64"}, {"arm64", "arm64"}} {
			images = append(images, &Image{
				name:        fmt.Sprintf("ubuntu-eks/k8s_%s/images/hvm-ssd/ubuntu-%s-%s-%s-server-%s", r.version, series.name, series.number, arch.ubuntu, r.label),
				description: "Canonical, Ubuntu EKS Node OS", owner: ownerCanonical, Arch: arch.ec2, RootDevice: "/dev/sda1", RootSizeGiB: 20,
				parameter: fmt.Sprintf("/aws/service/canonical/ubuntu/eks/%s/%s/stable/current/%s/hvm/%s/ami-id", series.number, r.version, arch.ubuntu, series.volume),
			})
		}
	}
	return images
}

func (r release) windows() []*Image {
	var images []*Image
	for _, year := range []string{"2019", "2022"} {
		for _, edition := range []string{"Core", "Full"} {
			name := fmt.Sprintf("Windows_Server-%s-English-%s-EKS_Optimized-%s", year, edition, r.version)
			images = append(images, &Image{
				name: name + "-" + r.created.Format("2006.01.02"), description: "Microsoft Windows Server " + year + " " + edition + " for EKS",
				owner: ownerMicrosoft, ownerAlias: "amazon", Arch: "x86_64", Windows: true, RootDevice: "/dev/sda1", RootSizeGiB: 50,
				parameter: "/aws/service/ami-windows-latest/" + name + "/image_id",
			})
		}
	}
	return images
}
