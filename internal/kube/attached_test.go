package kube

import (
	"errors"
	"fmt"
	"testing"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/plane/planetest"
)

// A volume that a driver is detaching is not in the status of the Node any more, but it is attached until its
// VolumeAttachment is gone.
func TestVolumeIsAttachedUntilItsVolumeAttachmentIsGone(t *testing.T) {
	emptyNode(t, unsynced(t), "detaching")
	attachments := admin.StorageV1().VolumeAttachments()
	a, err := attachments.Create(t.Context(), &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: "detaching", Finalizers: []string{"external-attacher/ebs-csi-aws-com"}},
		Spec: storagev1.VolumeAttachmentSpec{
			Attacher: "ebs.csi.aws.com", NodeName: "detaching", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: ptr.To("data")},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := attachments.Delete(t.Context(), a.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c := connect(t)
	attached := func(want int) {
		t.Helper()
		planetest.Eventually(t, fmt.Sprintf("%d volumes are attached", want), func() error {
			n := c.Snapshot().Node("detaching")
			if n == nil {
				return errors.New("there is no node")
			}
			if n.AttachedVolumes != want {
				return fmt.Errorf("%d are attached", n.AttachedVolumes)
			}
			return nil
		})
	}
	attached(1)
	// The driver has detached it.
	if _, err := attachments.Patch(t.Context(), a.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	attached(0)
}
