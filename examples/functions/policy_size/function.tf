locals {
  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "s3:GetObject", Resource = "arn:aws:s3:::reports/*" }]
  })
}

# A managed policy may have 6,144 characters.
output "fits" {
  value = provider::packhorse::policy_size(local.policy) <= 6144
}
