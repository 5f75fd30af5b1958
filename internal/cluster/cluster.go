// Package cluster holds what a decision needs to know of a cluster: a read-only
// snapshot of pods, nodes and what they refer to.
package cluster

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
)

// Snapshot is the state of a cluster at one moment. All slices are sorted by
// name (pods and claims by namespace, then name); nothing in it may be changed.
type Snapshot struct {
	Pods                 []Pod
	Nodes                []Node
	DaemonSets           []DaemonSet
	Namespaces           []Namespace
	Claims               []Claim
	Volumes              []Volume
	StorageClasses       []StorageClass
	PodDisruptionBudgets []PodDisruptionBudget
	Deployments          []Deployment
}

// ClockSkew is how far the clocks of the API server, the cloud and the computer that runs Terraform may be off
// the agent's.
const ClockSkew = time.Minute

// PodKey identifies a pod.
type PodKey struct {
	Namespace string
	Name      string
	UID       string
}

// String returns namespace/name.
func (k PodKey) String() string { return k.Namespace + "/" + k.Name }

// Pod is a pod that has not finished.
type Pod struct {
	PodKey
	// Version changes with each change of the object.
	Version string
	// Template is shared by all pods that ask for the same. Equal pointers mean
	// equal content; different pointers may also hold equal content.
	Template *Template
	// NodeName is set once the pod is bound.
	NodeName string
	// NominatedNode is set while the scheduler preempts others for the pod, or binds it. It may stay there when that has
	// failed, see WithoutOldNominations.
	NominatedNode string
	// Unplaced is since when a pod with a NominatedNode is marked unschedulable; zero if it is not.
	Unplaced time.Time
	Owner    Owner
	Created  time.Time
	// Since is when it came to its node; zero while it is on none.
	Since time.Time
	State PodState
	// PresumedUnschedulable: it counts as pending although the scheduler has not tried it yet.
	PresumedUnschedulable bool
	// Running: its containers have been started. Ready: they serve.
	Running, Ready bool
	// DeletionCost is the annotation of the ecosystem that says which pods of an owner
	// should go first, unless it is a mark of ours.
	DeletionCost int32
	// Steered is how much sooner than others the pod's owner ends it because of a mark of
	// ours; 0 where there is none. CostSet: somebody else has set its deletion cost.
	Steered int
	CostSet bool
	// Covered: one more replica is up before the pod goes voluntarily, so that nobody misses it.
	Covered bool
	// Held is why a pod that is to go in this way cannot do so for now; empty: it can.
	Held string
	// StopBy is when the grace period ends in which it may stop, and StopSince when that has
	// begun; zero while nobody has asked it to.
	StopBy, StopSince time.Time
	// Grace is how long it may take to stop, once it is asked to.
	Grace time.Duration
	// Finalizers keep it there when it is deleted, whether or not it has stopped.
	Finalizers []string
}

// PodState says what is to be done about a pod.
type PodState string

// The states of a pod.
const (
	// PodPending: marked unschedulable by the scheduler, and ours to place.
	PodPending PodState = "pending"
	// PodNew: the scheduler has not looked at it yet, so that it may be ours soon.
	PodNew PodState = "new"
	// PodWaiting: not bound, but not ours to place (gated, another scheduler's,
	// nominated, a DaemonSet's).
	PodWaiting PodState = "waiting"
	// PodFailing: not bound, because its scheduler, which is one of ours, reports an error of its own. The scheduler may
	// have found a node for it and try to bind it there again and again, so that it asks for no node and keeps one.
	PodFailing PodState = "failing"
	// PodBound: bound to a node and neither finished nor terminating.
	PodBound PodState = "bound"
	// PodTerminating: bound to a node and being deleted.
	PodTerminating PodState = "terminating"
)

// Owner is a pod's controller; Kind is empty where there is none.
type Owner struct {
	APIVersion string
	Kind       string
	Name       string
	UID        string
}

// Wanted is what an owner of pods is about to make.
type Wanted struct {
	// Pods is how many it makes without waiting for any of them to run: as many as it
	// has, or fewer, means that no more will come.
	Pods int
	// Certain: nothing is known that may keep it from making them.
	Certain bool
}

// Template is everything about a pod that scheduling looks at. Pods share it if its JSON is the same, so that all of its
// fields are exported, and clone copies those that refer to memory.
type Template struct {
	Namespace     string
	Labels        map[string]string
	Requests      amount.List // by the Kubernetes rule, with one of resource pods
	NodeSelector  map[string]string
	Affinity      *corev1.Affinity
	Tolerations   []corev1.Toleration
	Spread        []corev1.TopologySpreadConstraint
	HostPorts     []HostPort
	Claims        []ClaimRef
	Priority      int32
	SchedulerName string
	DoNotDisrupt  bool // annotated do-not-evict or do-not-disrupt
	DoNotEvict    bool // annotated do-not-evict: "true", and not do-not-disrupt: "true"
	// DoNotDisruptFor is for how long after it came to its node it must not be disrupted,
	// where the annotation holds a duration; 0 where it does not.
	DoNotDisruptFor time.Duration
	// Misprotected says that the annotation do-not-disrupt is neither true, nor false, nor a duration, so that it protects
	// nothing.
	Misprotected   bool
	DaemonSet      bool // owned by a DaemonSet
	Ends           bool // its containers are not always started again
	Static         bool // a mirror pod, owned by its node
	Critical       bool // system-cluster-critical or system-node-critical
	ResourceClaims bool // uses dynamic resource allocation
}

// HostPort is a port that a pod takes on its node.
type HostPort struct {
	IP       string // empty: all addresses
	Protocol corev1.Protocol
	Port     int32
}

// ClaimRef is a pod's reference to a volume claim.
type ClaimRef struct {
	Name string // of the claim
	// Ephemeral: the claim belongs to a generic ephemeral volume and may not
	// exist yet; it will be of StorageClass, where nil is the default class.
	Ephemeral    bool
	StorageClass *string
	Planned      bool // no API server has the pod of an ephemeral volume yet
}

// Node is a node of the cluster, registered or being started.
type Node struct {
	Name        string
	ProviderID  string
	Provisioner string // empty: not ours
	Labels      map[string]string
	Annotations map[string]string
	// Taints are those of others, and those of ours that keep pods away.
	Taints []corev1.Taint
	// Guide is how many soft taints of ours lead pods away from the node.
	Guide       int
	Capacity    amount.List
	Allocatable amount.List
	// Ready is the kubelet's own report.
	Ready bool
	// Initialized: it has been up once, with startup taints gone and extended
	// resources registered.
	Initialized bool
	// Awaited are the extended resources that the kubelet does not report yet: Capacity
	// and Allocatable have what the node's instance type promises of them.
	Awaited       []string
	Unschedulable bool
	Deleting      bool
	// Doubtful: its purchase failed, and may have bought it nevertheless. It counts towards
	// limits, and counts as being deleted, so that nothing is placed there.
	Doubtful bool
	// Refused is why the API server has refused its deletion, or a change that comes before it, a short while ago;
	// empty where it has not.
	Refused string
	// DeletedAt is when its deletion was asked for; zero while it is not.
	DeletedAt  time.Time
	Created    time.Time
	ReadySince time.Time
	// UnreadySince is since when the kubelet has not been ready; zero while it is,
	// and where nobody has said.
	UnreadySince time.Time
	// Unreadiness is why the kubelet of a node that has not been up says that it is not ready.
	Unreadiness string
	// SilentSince is since when nothing was heard of the kubelet; zero while it answers,
	// be it that it is not ready.
	SilentSince time.Time
	Finalizers  []string
	// Unterminated: it is drained, and the cloud has refused for long to terminate its machine.
	Unterminated bool
	// Owners are the UIDs of what owns it.
	Owners []string
	// AttachedVolumes is how many volumes are attached to the machine.
	AttachedVolumes int
	// VolumeLimits is the number of volumes that can be attached, by CSI driver.
	VolumeLimits map[string]int64
}

// DaemonSet is a workload that puts a pod on each node that it matches.
type DaemonSet struct {
	Namespace string
	Name      string
	UID       string
	Template  *Template
}

// Namespace is needed for namespace selectors.
type Namespace struct {
	Name   string
	Labels map[string]string
}

// Claim is a PersistentVolumeClaim.
type Claim struct {
	Namespace    string
	Name         string
	UID          string // empty where nothing is known of it
	VolumeName   string // empty: not bound
	Selected     string // the node for which its volume is being made; empty where none has been selected
	StorageClass *string
	AccessModes  []corev1.PersistentVolumeAccessMode
	// Planned: no API server has it yet, so that its volume is still to be made, for whichever node.
	Planned bool
	// Lost: the volume that it was bound to is gone.
	Lost bool
	// Deleting and Binding: the scheduler places no pod with a claim that is being deleted, or whose
	// volume kube-controller-manager has not bound yet.
	Deleting, Binding bool
	// What a volume that exists must have to be bound to it.
	Request  int64 // bytes
	Block    bool  // a raw device rather than a file system
	Selector *metav1.LabelSelector
}

// Volume is a PersistentVolume.
type Volume struct {
	Name         string
	NodeAffinity *corev1.NodeSelector
	Driver       string // CSI driver; empty where attachments are not limited
	Local        bool   // a local or hostPath volume
	Deleting     bool   // it is not attached to any other node
	// What decides whether an unbound claim may have it.
	Unavailable  bool     // bound, released, failed or being deleted
	Claim        ClaimKey // that it belongs to or is set aside for
	StorageClass string
	Capacity     int64 // bytes
	AccessModes  []corev1.PersistentVolumeAccessMode
	Block        bool
	Labels       map[string]string
}

// ClaimKey names a claim; the UID is empty where nothing is known of it.
type ClaimKey struct {
	Namespace, Name, UID string
}

// Key identifies the claim.
func (c *Claim) Key() ClaimKey { return ClaimKey{c.Namespace, c.Name, c.UID} }

// Set reports whether the key names a claim at all.
func (k ClaimKey) Set() bool { return k.Name != "" }

// Is reports whether both name the same claim. A claim that was made again under its
// name is another one.
func (k ClaimKey) Is(o ClaimKey) bool {
	return k.Namespace == o.Namespace && k.Name == o.Name && (k.UID == "" || o.UID == "" || k.UID == o.UID)
}

// String returns namespace/name.
func (k ClaimKey) String() string { return k.Namespace + "/" + k.Name }

// StorageClass is how unbound claims get volumes.
type StorageClass struct {
	Name                 string
	Driver               string
	WaitForFirstConsumer bool
	// Static: no volumes are made for its claims, which have to find one that exists.
	Static            bool
	AllowedTopologies []corev1.TopologySelectorTerm
	Default           bool
	Created           time.Time
}

// PodDisruptionBudget bounds how many pods may be evicted, as Kubernetes does. api.Budget is about nodes.
type PodDisruptionBudget struct {
	Namespace          string
	Name               string
	Selector           *metav1.LabelSelector
	DisruptionsAllowed int32
	// UnreadyAnyway: pods that are not ready may be evicted whatever it allows.
	UnreadyAnyway bool
	// Healthy: as many pods are ready as it demands, so that those that are not may be evicted.
	Healthy bool
	// Strict: it demands that all pods are ready, so that it lets none of these go, however long one waits.
	Strict bool
}
