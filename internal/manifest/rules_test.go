package manifest

import (
	"strings"
	"testing"
)

// TestRulesOfTheAPIServer: pods and workloads that the API server refuses are refused, with
// the field and its line, because a plan for them would never come true.
func TestRulesOfTheAPIServer(t *testing.T) {
	pod := func(spec string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  " + spec + "\n"
	}
	for name, c := range map[string]struct{ text, want string }{
		"a request beyond its limit": {
			pod("containers: [{name: a, resources: {requests: {cpu: 4}, limits: {cpu: 1}}}]"),
			`spec.containers[0].resources.requests[cpu]: Invalid value: "4": must be less than or equal to the limit of 1`,
		},
		"a selector that finds no pod": {
			"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: api}}}}\n",
			`spec.template.metadata.labels: Invalid value: "app=api": must match the selector app=web`,
		},
		"half a GPU": {
			pod(`initContainers: [{name: a, resources: {requests: {nvidia.com/gpu: "0.5"}, limits: {nvidia.com/gpu: "0.5"}}}]`),
			`spec.initContainers[0].resources.requests[nvidia.com/gpu]: Invalid value: "500m": must be an integer`,
		},
		"fewer huge pages than the limit": {
			pod("resources: {requests: {hugepages-2Mi: 2Mi}, limits: {hugepages-2Mi: 4Mi}}"),
			`spec.resources.requests[hugepages-2Mi]: Invalid value: "2Mi": must be equal to the limit of 4Mi`,
		},
		"an operator of a toleration": {
			pod("tolerations: [{key: k, operator: Exist}]"),
			`spec.tolerations[0].operator: Unsupported value: "Exist"; choose Equal or Exists`,
		},
		"a toleration of every value": {
			pod("tolerations: [{key: k, operator: Exists, value: v}]"),
			`spec.tolerations[0].value: Invalid value: "v": must be empty where the operator is Exists; remove it, or use the operator Equal`,
		},
		"a toleration's key": {
			pod("tolerations: [{key: a b, operator: Exists}]"),
			`spec.tolerations[0].key: Invalid value: "a b": name part must consist of alphanumeric characters`,
		},
		"a toleration's value": {
			pod("tolerations: [{key: a, value: b=c}]"),
			`spec.tolerations[0].value: Invalid value: "b=c": a valid label must be`,
		},
		"a toleration without a key": {
			pod("tolerations: [{value: v}]"),
			`spec.tolerations[0].operator: Invalid value: "": must be Exists where there is no key`,
		},
		"a skew of none": {
			pod("topologySpreadConstraints: [{maxSkew: 0, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]"),
			"spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
		},
		"domains of a preference": {
			pod("topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, minDomains: 3}]"),
			"spec.topologySpreadConstraints[0].minDomains: Invalid value: 3: can only be used with whenUnsatisfiable DoNotSchedule",
		},
		"a mistyped spread": {
			pod("topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedul}]"),
			`spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "DoNotSchedul"; choose DoNotSchedule or ScheduleAnyway`,
		},
		"an operator of a node's labels": {
			pod("affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: k, operator: Is, values: [v]}]}]}}}"),
			`spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: "Is"; choose In, NotIn, Exists, DoesNotExist, Gt or Lt`,
		},
		"a preference with values too many": {
			pod("affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: k, operator: Exists, values: [v]}]}}]}}"),
			"spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].values: Forbidden: the operator takes no values",
		},
		"the weight of a preferred node": {
			pod("affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 101, preference: {matchExpressions: [{key: k, operator: Exists}]}}]}}"),
			"spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 101: must be in the range 1-100",
		},
		"a preferred pod without a weight": {
			pod("affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{podAffinityTerm: {topologyKey: zone}}]}}"),
			"spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 0: must be in the range 1-100",
		},
		"the weight of a pod to keep away from": {
			pod("affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: -1, podAffinityTerm: {topologyKey: zone}}]}}"),
			"spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: -1: must be in the range 1-100",
		},
		"an affinity without a domain": {
			pod("affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {}}]}}"),
			"spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Required value: can not be empty",
		},
		"a selector that compares": {
			pod("affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: {matchExpressions: [{key: k, operator: Gt, values: [\"1\"]}]}}]}}"),
			`labelSelector.matchExpressions[0].operator: Unsupported value: "Gt"; choose In, NotIn, Exists or DoesNotExist`,
		},
		"a label": {
			"apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  labels: {app: a b}\n",
			`metadata.labels[app]: Invalid value: "a b": a valid label must be`,
		},
		"a label of a template": {
			"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  template: {metadata: {labels: {a b: c}}}\n",
			`spec.template.metadata.labels: Invalid value: "a b": name part must consist of`,
		},
		"a namespace": {
			"apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  namespace: A_b\n",
			`metadata.namespace: Invalid value: "A_b": a lowercase RFC 1123 label must consist of`,
		},
		"a port": {
			pod("containers: [{name: a, ports: [{containerPort: 80, hostPort: 99999}]}]"),
			"spec.containers[0].ports[0].hostPort: Invalid value: 99999: must be between 1 and 65535, inclusive",
		},
		"a key of a topology": {
			pod("topologySpreadConstraints: [{maxSkew: 1, topologyKey: a zone, whenUnsatisfiable: DoNotSchedule}]"),
			`spec.topologySpreadConstraints[0].topologyKey: Invalid value: "a zone": name part must consist of`,
		},
		"a misspelt resource": {
			pod("containers: [{name: a, resources: {requests: {memroy: 1Gi}}}]"),
			`spec.containers[0].resources.requests[memroy]: Invalid value: "memroy": must be a standard resource type or fully qualified; did you mean memory?`,
		},
		"a device without its domain": {
			pod("containers: [{name: a, resources: {limits: {gpu: 1}}}]"),
			`spec.containers[0].resources.limits[gpu]: Invalid value: "gpu": must be a standard resource type or fully qualified; did you mean nvidia.com/gpu?`,
		},
		"another device without its domain": {
			pod("containers: [{name: a, resources: {limits: {tpu-v5: 1}}}]"),
			`must be a standard resource type or fully qualified; give its domain too, such as nvidia.com/gpu`,
		},
		"a node selector": {
			pod("nodeSelector: {disk: very fast}"),
			`spec.nodeSelector[disk]: Invalid value: "very fast": a valid label must be an empty string or consist of alphanumeric characters`,
		},
		"an operating system": {
			pod("os: {name: Windows}"),
			`spec.os.name: Unsupported value: "Windows"; choose linux or windows`,
		},
		"indexes of a Job": {
			"apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {template: {spec: {containers: [{name: a}]}}}\nstatus: {failedIndexes: \"5-3\"}\n",
			`status.failedIndexes: Invalid value: "5-3": must be a list of indexes and ranges of them; write it like 1,3-5,7`,
		},
		"fewer replicas than none": {
			"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  replicas: -2\n",
			"spec.replicas: Invalid value: -2: must be greater than or equal to 0",
		},
		"no template": {
			"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: a}\nspec:\n  template: {}\n",
			"spec.template: Required value; describe the pods that it creates",
		},
		"no template of a ReplicationController": {
			"kind: ReplicationController\napiVersion: v1\nmetadata:\n  name: a\nspec:\n  replicas: 2\n",
			"spec.template: Required value; describe the pods that it creates",
		},
		"the template of a CronJob": {
			"apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec:\n  jobTemplate: {spec: {template: {spec: {tolerations: [{key: k, effect: NoRun}]}}}}\n",
			`spec.jobTemplate.spec.template.spec.tolerations[0].effect: Unsupported value: "NoRun"; choose NoSchedule, PreferNoSchedule or NoExecute`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(c.text)
			if err == nil || !strings.HasPrefix(err.Error(), "in.yaml:5: document 1: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is\n%v\nand not\n%s", err, c.want)
			}
		})
	}
	parse(t, pod(`tolerations: [{operator: Exists}, {key: k, operator: Lt, value: "5"}]
  containers: [{name: a, resources: {requests: {cpu: 1}, limits: {memory: 1Gi, nvidia.com/gpu: 1}}}]`))
}
