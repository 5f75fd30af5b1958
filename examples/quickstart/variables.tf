variable "cluster_name" {
  description = "Name of the EKS cluster. Its subnets and security groups carry the tag karpenter.sh/discovery with this name."
  type        = string
  default     = "packhorse-demo"
}

variable "region" {
  description = "AWS region of the cluster."
  type        = string
  default     = "eu-west-1"
}

variable "node_role" {
  description = "IAM role of the nodes. Its instance profile has the same name."
  type        = string
  default     = "packhorse-node"
}

variable "seconds_after_empty" {
  description = "Seconds after which a node without workload pods goes, and for which a node is left alone after pods came or went."
  type        = number
  default     = 10
}
