// Package chart turns what package install renders into the templates of the Helm
// chart, so that both install the same objects. The chart is in packhorse-agent/;
// `go test ./internal/install/chart -update` writes its templates again.
package chart

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
)

// sample has a value for every setting that the chart has one for. The values
// are found again in what is rendered, where expressions take their place.
var sample = install.Settings{
	// Helm needs the namespace before it can install into it.
	OmitNamespace: true,
	Namespace:     "the-namespace", Name: "the-name", ClusterName: "the-cluster", Region: "the-region", RoleARN: "the-role", Queue: "the-queue",
	InstanceProfile: "the-profile", Endpoints: map[string]string{"the-service": "x"}, Options: map[string]string{"log-format": "the-options", "node-pools": "true"},
	Image: "the-image", PullSecrets: []string{"the-secret"}, Replicas: ptr.To[int32](2), CPURequest: "777m", Memory: "777Mi",
	PriorityClassName: "the-class", NodeSelector: map[string]string{"the-selector": "x"},
	Tolerations: []corev1.Toleration{{Key: "the-toleration"}}, CABundle: "the-authorities", Environment: map[string]string{"THE_ENVIRONMENT": "x"},
}

// Templates returns the chart's templates by the names of their files.
func Templates() (map[string]string, error) {
	settings := sample.Defaulted("")
	objects, err := settings.Objects()
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, object := range objects {
		name, text, err := template(object)
		if err != nil {
			return nil, err
		}
		out[name] = text
	}
	return out, nil
}

// header tells who writes the templates; it is not part of what they render.
const header = "{{- /* Generated from internal/install. Do not edit. */ -}}\n"

func template(object *unstructured.Unstructured) (name, text string, err error) {
	raw, err := install.YAML([]*unstructured.Unstructured{object})
	if err != nil {
		return "", "", err
	}
	kind := strings.ToLower(object.GetKind())
	name, text = kind+".yaml", string(raw)
	if kind == "customresourcedefinition" {
		plural, _, _ := strings.Cut(object.GetName(), ".")
		name = "crd-" + plural + ".yaml"
	}
	for _, r := range rules[kind] {
		if strings.Count(text, r.rendered) != 1 {
			return "", "", fmt.Errorf("template of %s: %q is there %d times, want once", object.GetKind(), r.rendered, strings.Count(text, r.rendered))
		}
		text = strings.Replace(text, r.rendered, r.expression, 1)
	}
	text = everywhere.Replace(text)
	if left := strings.Index(text, "the-"); left >= 0 {
		return "", "", fmt.Errorf("template of %s: nothing takes the place of %.30q", object.GetKind(), text[left:])
	}
	if condition := conditions[kind]; condition != "" {
		text = "{{- if " + condition + " }}\n" + text + "{{- end }}\n"
	}
	return name, header + text, nil
}

// everywhere replaces what many objects have.
var everywhere = strings.NewReplacer("the-namespace", "{{ .Release.Namespace }}", "the-name", "{{ .Release.Name }}")

// conditions of objects that are left out where they do not hold.
var conditions = map[string]string{
	"customresourcedefinition": ".Values.crds.install", "networkpolicy": ".Values.networkPolicy",
}

// nodePoolRules are the rights that it takes to serve NodePools, as they are rendered.
var nodePoolRules = rendered(install.NodePoolRules())

func rendered(rules []rbacv1.PolicyRule) string {
	text, err := yaml.Marshal(rules)
	if err != nil {
		panic(fmt.Sprintf("render rules: %v", err)) // they are constants
	}
	return string(text)
}

// unpruned writes the annotations that keep a definition from being pruned, as lines of its metadata.
func unpruned() string {
	var lines strings.Builder
	annotations := install.Unpruned()
	for _, name := range slices.Sorted(maps.Keys(annotations)) {
		fmt.Fprintf(&lines, "    %s: %s\n", name, annotations[name])
	}
	return lines.String()
}

// rule replaces a part of what is rendered.
type rule struct{ rendered, expression string }

// optional renders a part only where the value is set.
func optional(value, rendered, expression string) rule {
	return rule{rendered, "{{- with .Values." + value + " }}\n" + expression + "{{- end }}\n"}
}

// Parts that are rendered only with the settings that they belong to.
const (
	tokenMount          = "        - mountPath: /var/run/secrets/eks.amazonaws.com/serviceaccount\n          name: aws-iam-token\n          readOnly: true\n"
	tokenVolume         = "      - name: aws-iam-token\n        projected:\n          sources:\n          - serviceAccountToken:\n              audience: sts.amazonaws.com\n              expirationSeconds: 86400\n              path: token\n"
	authoritiesMount    = "        - mountPath: /etc/packhorse/ca\n          name: packhorse-ca-bundle\n          readOnly: true\n"
	authoritiesVariable = "        - name: AWS_CA_BUNDLE\n          value: /etc/packhorse/ca/ca.crt\n"
)

var rules = map[string][]rule{
	"clusterrole":              {{nodePoolRules, "{{- if eq (toString (index (.Values.options | default dict) \"node-pools\")) \"true\" }}\n" + nodePoolRules + "{{- end }}\n"}},
	"customresourcedefinition": {{"\nmetadata:\n", "\nmetadata:\n{{- if .Values.crds.keep }}\n  annotations:\n    helm.sh/resource-policy: keep\n" + unpruned() + "{{- end }}\n"}},
	"serviceaccount": {optional("roleArn", "  annotations:\n    eks.amazonaws.com/role-arn: the-role\n",
		"  annotations:\n    eks.amazonaws.com/role-arn: {{ . | quote }}\n")},
	"deployment": {
		{"  replicas: 2\n", "  replicas: {{ .Values.replicas }}\n"},
		{"        - --cluster-name=the-cluster\n", "        - {{ printf \"--cluster-name=%s\" (required \"clusterName: the name of the EKS cluster is required\" .Values.clusterName) | quote }}\n"},
		optional("interruptionQueue", "        - --interruption-queue=the-queue\n", "        - {{ printf \"--interruption-queue=%s\" . | quote }}\n"),
		optional("defaultInstanceProfile", "        - --default-instance-profile=the-profile\n", "        - {{ printf \"--default-instance-profile=%s\" . | quote }}\n"),
		{"        - --log-format=the-options\n        - --node-pools=true\n", "        {{- range $name, $value := .Values.options }}\n        - {{ printf \"--%s=%s\" $name (toString $value) | quote }}\n        {{- end }}\n"},
		optional("region", "        - name: AWS_REGION\n          value: the-region\n", "        - name: AWS_REGION\n          value: {{ . | quote }}\n"),
		{"        - name: AWS_ROLE_ARN\n          value: the-role\n        - name: AWS_WEB_IDENTITY_TOKEN_FILE\n          value: /var/run/secrets/eks.amazonaws.com/serviceaccount/token\n        - name: AWS_ROLE_SESSION_NAME\n          valueFrom:\n            fieldRef:\n              apiVersion: v1\n              fieldPath: metadata.name\n",
			"{{- with .Values.roleArn }}\n        - name: AWS_ROLE_ARN\n          value: {{ . | quote }}\n        - name: AWS_WEB_IDENTITY_TOKEN_FILE\n          value: /var/run/secrets/eks.amazonaws.com/serviceaccount/token\n        - name: AWS_ROLE_SESSION_NAME\n          valueFrom:\n            fieldRef:\n              apiVersion: v1\n              fieldPath: metadata.name\n{{- end }}\n"},
		{"        - name: AWS_ENDPOINT_URL_THE-SERVICE\n          value: x\n", "        {{- range $service, $url := .Values.endpoints }}\n        {{- $variable := printf \"AWS_ENDPOINT_URL_%s\" (upper $service) }}\n" +
			"        {{- if not (hasKey ($.Values.environment | default dict) $variable) }}\n        - name: {{ $variable }}\n          value: {{ $url | quote }}\n        {{- end }}\n        {{- end }}\n"},
		{"        - name: THE_ENVIRONMENT\n          value: x\n", "        {{- range $name, $value := .Values.environment }}\n        - name: {{ $name }}\n          value: {{ toString $value | quote }}\n        {{- end }}\n"},
		{"        image: the-image\n", "        image: {{ printf \"%s:%s\" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) }}{{ with .Values.image.digest }}@{{ . }}{{ end }}\n"},
		{"          limits:\n            memory: 777Mi\n          requests:\n            cpu: 777m\n            memory: 777Mi\n",
			"          limits:\n            memory: {{ .Values.memory }}\n          requests:\n            cpu: {{ .Values.cpuRequest | quote }}\n            memory: {{ .Values.memory }}\n"},
		{"        volumeMounts:\n", "{{- if or .Values.roleArn .Values.caBundle }}\n        volumeMounts:\n{{- end }}\n"},
		{tokenMount, "{{- if .Values.roleArn }}\n" + tokenMount + "{{- end }}\n"},
		{authoritiesMount, "{{- if .Values.caBundle }}\n" + authoritiesMount + "{{- end }}\n"},
		optional("imagePullSecrets", "      imagePullSecrets:\n      - name: the-secret\n", "      imagePullSecrets:\n      {{- range . }}\n      - name: {{ . }}\n      {{- end }}\n"),
		{"        the-selector: x\n", "        {{- range $label, $value := .Values.nodeSelector }}\n        {{ $label }}: {{ toString $value | quote }}\n        {{- end }}\n"},
		{"      priorityClassName: the-class\n", "      priorityClassName: {{ .Values.priorityClassName }}\n"},
		{"      - key: the-toleration\n", "      {{- with .Values.tolerations }}\n      {{- toYaml . | nindent 6 }}\n      {{- end }}\n"},
		{"      volumes:\n", "{{- if or .Values.roleArn .Values.caBundle }}\n      volumes:\n{{- end }}\n"},
		{tokenVolume, "{{- if .Values.roleArn }}\n" + tokenVolume + "{{- end }}\n"},
		optional("caBundle", "      - configMap:\n          items:\n          - key: ca.crt\n            path: ca.crt\n          name: the-authorities\n        name: packhorse-ca-bundle\n",
			"      - configMap:\n          items:\n          - key: ca.crt\n            path: ca.crt\n          name: {{ . | quote }}\n        name: packhorse-ca-bundle\n"),
		{authoritiesVariable, "{{- if and .Values.caBundle (not (hasKey (.Values.environment | default dict) \"AWS_CA_BUNDLE\")) }}\n" + authoritiesVariable + "{{- end }}\n"},
	},
}
