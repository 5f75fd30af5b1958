package match

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/labelset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// Classes with the provisioner kubernetes.io/no-provisioner make no volumes: their
// claims have to find one that exists. Several claims may want the same volume, so
// that as many as possible are given one each; the others have to wait.

// maxVolumes bounds from how many volumes a plan may choose one for a claim: from the smallest, as Kubernetes does. It also
// bounds the search for a volume that another claim can leave to it.
const maxVolumes = 128

// static says, by claim, which existing volumes it may have.
type static struct {
	fitting map[cluster.ClaimKey][]int // indices of Snapshot.Volumes
	given   map[int]cluster.ClaimKey   // by volume: the claim that it is for
}

// assign finds volumes for the unbound claims of static classes that pods use. No other claim gets
// a volume: binding waits for a pod.
func (v *Volumes) assign() static {
	out := static{fitting: map[cluster.ClaimKey][]int{}, given: map[int]cluster.ClaimKey{}}
	full := map[cluster.ClaimKey]bool{} // whatever fits them is taken, and stays so
	var give func(key cluster.ClaimKey, seen map[int]bool) bool
	give = func(key cluster.ClaimKey, seen map[int]bool) bool { // an augmenting path
		fitting := out.fitting[key]
		if !full[key] {
			if free := slices.IndexFunc(fitting, func(i int) bool { _, taken := out.given[i]; return !taken }); free >= 0 {
				out.given[fitting[free]] = key
				return true
			}
			full[key] = true
		}
		for _, i := range fitting {
			if len(seen) == maxVolumes {
				break
			}
			if seen[i] {
				continue
			}
			seen[i] = true
			if give(out.given[i], seen) {
				out.given[i] = key
				return true
			}
		}
		return false
	}
	for i := range v.snapshot.Claims {
		c := &v.snapshot.Claims[i]
		_, used := v.shared[c.Namespace+"/"+c.Name]
		if !used || c.VolumeName != "" || c.Lost || c.Deleting {
			continue
		}
		if class, miss := v.class(c.Name, c.StorageClass); !miss.Missed() && class.Static {
			out.fitting[c.Key()] = v.fitting(c, class.Name)
			give(c.Key(), map[int]bool{})
		}
	}
	return out
}

// existing resolves an unbound claim to the places of the volumes that it may have: the one
// that is for it, and those that no claim needs.
func (v *Volumes) existing(c *cluster.Claim, class *cluster.StorageClass) ([]Requirements, string, Miss) {
	fitting, known := v.static.fitting[c.Key()]
	if !known { // of an ephemeral volume that is not there yet, or of no pod in the snapshot
		fitting = v.fitting(c, class.Name)
	}
	var free []int
	for _, i := range fitting {
		if other, taken := v.static.given[i]; taken && other == c.Key() || !taken && len(free) < maxVolumes {
			free = append(free, i)
		}
	}
	wants := fmt.Sprintf("persistent volume claim %s/%s needs an existing volume, because storage class %s does not provision volumes", c.Namespace, c.Name, class.Name)
	switch {
	case len(fitting) == 0:
		return nil, "", volumeMiss("%s, and %s", wants, v.nearest(c, class.Name))
	case len(free) == 0:
		return nil, "", volumeMiss("%s, and other claims have all that fit", wants)
	}
	var places []Requirements
	for _, i := range free {
		of, _ := placesOf(&v.snapshot.Volumes[i], false)
		places = append(places, of...)
	}
	places = alternatives(places)
	return places[:min(len(places), maxAlternatives)], v.snapshot.Volumes[free[0]].Driver, Miss{}
}

// alternatives joins alternatives that ask for values of the same single label: local volumes
// name one node each, and there may be hundreds.
func alternatives(places []Requirements) []Requirements {
	var out []Requirements
	for _, p := range places {
		if len(p) == 0 {
			return []Requirements{nil} // anywhere
		}
		i := slices.IndexFunc(out, func(o Requirements) bool { return len(p) == 1 && len(o) == 1 && o[0].Key == p[0].Key })
		values, listed := p[0].Set.Values()
		if i >= 0 && listed {
			if others, listed := out[i][0].Set.Values(); listed {
				out[i] = Requirements{{Key: p[0].Key, Set: labelset.Only(slices.Concat(others, values)...)}}
				continue
			}
		}
		out = append(out, p)
	}
	return out
}

// fitting lists the volumes that the claim may have, one that is set aside for it first
// and then the smallest.
func (v *Volumes) fitting(c *cluster.Claim, class string) []int {
	var out []int
	volumes := v.snapshot.Volumes
	for _, i := range v.ofClass(class) {
		if _, lack := volumes[i].Lacks(c, class); lack == "" {
			out = append(out, i)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int {
		aside := func(i int) int { return len(volumes[i].Claim.Name) }
		return cmp.Or(cmp.Compare(aside(b), aside(a)), cmp.Compare(volumes[a].Capacity, volumes[b].Capacity))
	})
	return out
}

// ofClass lists the volumes of a class that are somewhere. Where volumes are is read once, and not for each claim.
func (v *Volumes) ofClass(class string) []int {
	if v.byClass == nil {
		v.byClass = map[string][]int{}
		for i := range v.snapshot.Volumes {
			of := &v.snapshot.Volumes[i]
			if _, somewhere := placesOf(of, false); somewhere {
				v.byClass[of.StorageClass] = append(v.byClass[of.StorageClass], i)
			}
		}
	}
	return v.byClass[class]
}

// nearest says what keeps the claim from the volume that comes nearest.
func (v *Volumes) nearest(c *cluster.Claim, class string) string {
	best, why := -1, "there is no volume of that class"
	for i := range v.snapshot.Volumes {
		if passed, text := v.snapshot.Volumes[i].Lacks(c, class); passed > best && text != "" {
			best, why = passed, text
		}
	}
	return why
}
