package validate

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// User data may hold secrets, such as a token with which a script joins something. No error shows any of it.
func TestErrorsDoNotShowUserData(t *testing.T) {
	const secret = "hunter2-hunter2"
	for name, c := range map[string]struct{ family, text string }{
		"another family's":      {api.FamilyBottlerocket, "#!/bin/bash\nTOKEN=" + secret + " join"},
		"no TOML":               {api.FamilyBottlerocket, "token: " + secret},
		"a placeholder":         {api.FamilyBottlerocket, "#!/bin/bash\nTOKEN=" + secret + " join ${HOST}"},
		"a typographic quote":   {api.FamilyBottlerocket, "#!/bin/bash\nTOKEN=“" + secret + "”"},
		"TOML":                  {api.FamilyBottlerocket, "[settings.motd]\na = 1\nb = " + secret + "\n"},
		"a large number":        {api.FamilyBottlerocket, "[settings.motd]\na = 12345678901234567890\n"},
		"YAML":                  {api.FamilyAL2023, "apiVersion: node.eks.aws/v1alpha1\ntoken: *" + secret + "\n"},
		"a value of YAML":       {api.FamilyAL2023, "apiVersion: node.eks.aws/v1alpha1\ntoken: !!int " + secret + "\n"},
		"a header":              {api.FamilyAL2, "MIME-Version: 1.0\n" + secret + "\n\n"},
		"a part":                {api.FamilyAL2, "Content-Type: multipart/mixed; boundary=\"x\"\n\n--x\n" + secret + "\n--x--\n"},
		"a line before parts":   {api.FamilyAL2, "Content-Type: multipart/mixed; boundary=\"x\"\n\n--x \n--x\n" + secret + ": a\n: " + secret + "\n"},
		"no list of parameters": {api.FamilyAL2, "Content-Type: multipart/mixed; " + secret + "\n\n--x\n"},
		"the name of the node":  {api.FamilyAL2, "#!/bin/sh\njoin --hostname-override $(curl -H token:" + secret + " http://169.254.169.254/latest/meta-data/instance-id)"},
	} {
		t.Run(name, func(t *testing.T) {
			template := &api.AWSNodeTemplate{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Spec: api.NodeProfile{AMIFamily: ptr.To(c.family), UserData: ptr.To(c.text)}}
			errs := NodeTemplate(template).Errors()
			if len(errs) != 1 || errs[0].Path != "spec.userData" {
				t.Fatalf("errors = %v, want one about spec.userData", errs)
			}
			if text := errs.Error(); strings.Contains(text, "hunter2") || strings.Contains(text, "1234567890") {
				t.Errorf("the error shows the user data: %s", text)
			}
		})
	}
}
