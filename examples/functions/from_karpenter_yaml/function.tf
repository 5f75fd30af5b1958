locals {
  converted = provider::packhorse::from_karpenter_yaml(<<-YAML
    apiVersion: karpenter.sh/v1
    kind: NodePool
    metadata: {name: general}
    spec:
      disruption: {consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 1m}
      template:
        spec:
          nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: general}
          requirements:
            - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r], minValues: 2}
    ---
    apiVersion: karpenter.k8s.aws/v1
    kind: EC2NodeClass
    metadata: {name: general}
    spec:
      instanceProfile: prod-node
      amiSelectorTerms: [{alias: al2023@v20260101}]
      subnetSelectorTerms: [{tags: {karpenter.sh/discovery: prod}}]
      securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: prod}}]
  YAML
  )
}

locals {
  pool  = local.converted.provisioners["general"]
  class = local.converted.node_profiles["general"]
}

resource "packhorse_node_profile" "general" {
  name                    = "general"
  ami_family              = local.class.ami_family
  instance_profile        = local.class.instance_profile
  subnet_selector         = local.class.subnet_selector
  security_group_selector = local.class.security_group_selector
  metadata_options        = local.class.metadata_options
}

resource "packhorse_provisioner" "general" {
  name                      = "general"
  requirements              = local.pool.requirements
  consolidation             = local.pool.consolidation
  disruption                = local.pool.disruption
  ttl_seconds_until_expired = local.pool.ttl_seconds_until_expired
  provider_ref              = { name = packhorse_node_profile.general.name }
}

# AWSNodeTemplate general: spec.amiSelectorTerms[0].alias: …
output "losses" {
  value = local.converted.losses
}
