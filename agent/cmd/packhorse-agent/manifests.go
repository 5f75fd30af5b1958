package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
)

// installation holds the flags of `manifests`.
type installation struct {
	settings    install.Settings
	replicas    int32
	tolerations []string
	options     []string
	out         string
	flagOf      func(path string) string
}

func manifestsCommand() *cobra.Command {
	i := &installation{}
	cmd := &cobra.Command{
		Use:   "manifests --cluster-name NAME",
		Short: "Print the agent's installation, for kubectl apply and GitOps",
		Long: `manifests prints everything that the agent's installation consists of, as YAML:
the definitions of the custom resources, the namespace, the ServiceAccount with
exactly the verbs that the agent uses, and the Deployment with what belongs to
it. The same settings give the same bytes. The Terraform resource packhorse_agent
and the Helm chart install the same objects.`,
		Example: `  packhorse-agent manifests --cluster-name prod --role-arn arn:aws:iam::123456789012:role/packhorse-agent | kubectl apply --server-side -f -
  packhorse-agent manifests --cluster-name prod --option batch-idle=2s --out clusters/prod/packhorse`,
		Args:    cobra.NoArgs,
		PreRunE: prepare,
		RunE:    func(cmd *cobra.Command, _ []string) error { return i.run(cmd.OutOrStdout()) },
	}
	i.flags(cmd)
	return cmd
}

func (i *installation) flags(cmd *cobra.Command) {
	f, s := cmd.Flags(), &i.settings
	i.flagOf = func(path string) string { return flagOf(f, path) }
	f.StringVar(&i.out, "out", "", "`FOLDER` for one file per object (default: print all objects)")

	f.StringVar(&s.ClusterName, "cluster-name", "", "`NAME` of the EKS cluster (required)")
	f.StringVar(&s.Region, "region", "", "AWS `REGION` (default: what the pod's environment says)")
	f.StringVar(&s.RoleARN, "role-arn", "", "`ARN` of the IAM role that the agent assumes (default: none, for EKS Pod Identity)")
	f.StringVar(&s.Queue, "interruption-queue", "", "`NAME` of the interruption queue")
	f.StringVar(&s.InstanceProfile, "default-instance-profile", "", "`NAME` of the IAM instance profile for node profiles that "+
		"do not set one")
	f.StringToStringVar(&s.Endpoints, "endpoint", nil, "`SERVICE=URL` of an AWS service instead of the default one ("+strings.Join(install.EndpointServices(), ", ")+"); may be repeated")
	f.StringArrayVar(&i.options, "option", nil, "additional `FLAG=VALUE` of `run`, without the dashes; may be repeated")

	f.StringVar(&s.Namespace, "namespace", install.DefaultNamespace, "`NAMESPACE` of the agent")
	f.StringVar(&s.Name, "name", install.DefaultName, "`NAME` of the objects")
	f.StringVar(&s.Image, "image", install.DefaultImage(version), "`REFERENCE` of the image")
	f.StringSliceVar(&s.PullSecrets, "image-pull-secret", nil, "`NAME` of a Secret to pull the image with; may be repeated")
	f.Int32Var(&i.replicas, "replicas", install.DefaultReplicas, "how many agents run, of which one leads")
	f.StringVar(&s.CPURequest, "cpu-request", install.DefaultCPURequest, "CPU request of each agent")
	f.StringVar(&s.Memory, "memory", install.DefaultMemory, "memory request and limit of each agent")
	f.StringVar(&s.PriorityClassName, "priority-class-name", install.DefaultPriorityClassName, "`NAME` of the pods' priority class")
	f.StringToStringVar(&s.NodeSelector, "node-selector", nil, "`LABEL=VALUE` of the nodes that agents run on; may be repeated")
	f.StringSliceVar(&i.tolerations, "toleration", nil, "`KEY[=VALUE][:EFFECT]` of a taint that agents tolerate; may be repeated")
	f.StringVar(&s.CABundle, "ca-bundle", "", "`NAME` of a ConfigMap whose key ca.crt has the authorities that the agent trusts when it calls AWS (default: the public ones)")
	f.StringToStringVar(&s.Environment, "environment", nil, "additional environment variable `NAME=VALUE`; may be repeated")

	f.BoolVar(&s.OmitNamespace, "omit-namespace", false, "leave out the Namespace")
	f.BoolVar(&s.OmitCRDs, "omit-crds", false, "leave out the CRDs")
	f.BoolVar(&s.OmitNetworkPolicy, "omit-network-policy", false, "leave out the NetworkPolicy")
}

func (i *installation) run(out io.Writer) error {
	i.settings.Replicas = &i.replicas
	for _, text := range i.tolerations {
		t := toleration(text)
		if t.Key == "" { // which would tolerate every taint
			return fmt.Errorf("--toleration %q names no key: write KEY[=VALUE][:EFFECT]", text)
		}
		i.settings.Tolerations = append(i.settings.Tolerations, t)
	}
	var err error
	if i.settings.Options, err = options(i.options); err != nil {
		return err
	}
	settings := i.settings.Defaulted(version)
	wrong := settings.Validate()
	for _, err := range wrong {
		err.Field = i.flagOf(err.Field)
	}
	if err := wrong.ToAggregate(); err != nil {
		return fmt.Errorf("render the installation: %w", err)
	}
	objects, err := settings.Objects()
	if err != nil {
		return err
	}
	for _, object := range objects {
		if object.GetKind() == "CustomResourceDefinition" {
			object.SetAnnotations(install.Unpruned())
		}
	}
	if i.out != "" {
		return writeObjects(i.out, objects, out)
	}
	text, err := install.YAML(objects)
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return err
}

// flagOf returns a path with the flag for its setting. Settings with several values are in the plural, and
// flags that may be repeated are not.
func flagOf(flags *pflag.FlagSet, path string) string {
	end := strings.IndexAny(path+".", ".[")
	name := strings.ReplaceAll(path[:end], "_", "-")
	if flags.Lookup(name) == nil {
		name = strings.TrimSuffix(name, "s")
	}
	return "--" + name + path[end:]
}

// options reads FLAG=VALUE. Flags that take several values may be repeated.
func options(given []string) (map[string]string, error) {
	out := map[string]string{}
	for _, text := range given {
		name, value, found := strings.Cut(text, "=")
		before, repeated := out[name]
		switch {
		case !found:
			return nil, fmt.Errorf("--option %q must be FLAG=VALUE", text)
		case repeated && name != "tag" && name != "scheduler-name":
			return nil, fmt.Errorf("--option %s is given twice: %q and %q", name, before, value)
		case repeated:
			value = before + "," + value
		}
		out[name] = value
	}
	return out, nil
}

// toleration reads KEY, KEY:EFFECT, KEY=VALUE and KEY=VALUE:EFFECT.
func toleration(text string) corev1.Toleration {
	taint, effect, _ := strings.Cut(text, ":")
	key, value, equal := strings.Cut(taint, "=")
	t := corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffect(effect)}
	if equal {
		t.Operator, t.Value = corev1.TolerationOpEqual, value
	}
	return t
}

// writeObjects writes one file per object, whose names sort in the order in which
// they are to be applied, and says which.
func writeObjects(folder string, objects []*unstructured.Unstructured, out io.Writer) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	var names []string
	for n, object := range objects {
		names = append(names, fmt.Sprintf("%02d-%s-%s.yaml", n, strings.ToLower(object.GetKind()), object.GetName()))
	}
	if err := checkLeftOvers(folder, names); err != nil {
		return err
	}
	for n, object := range objects {
		text, err := install.YAML([]*unstructured.Unstructured{object})
		if err != nil {
			return err
		}
		path := filepath.Join(folder, names[n])
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return fmt.Errorf("write the installation: %w", err)
		}
		if _, err := fmt.Fprintln(out, path); err != nil {
			return err
		}
	}
	return nil
}

// checkLeftOvers refuses a folder with files of an installation that had other objects. The
// numbers in their names differ, so that the old form of an object could be applied after the
// new one.
func checkLeftOvers(folder string, names []string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	var others []string
	for _, e := range entries {
		if ours, _ := filepath.Match("[0-9][0-9]-*.yaml", e.Name()); ours && !slices.Contains(names, e.Name()) {
			others = append(others, e.Name())
		}
	}
	if len(others) > 0 {
		return fmt.Errorf("--out: %s contains files that do not belong to this installation and would be applied with it; remove them: %s", folder, strings.Join(others, ", "))
	}
	return nil
}
