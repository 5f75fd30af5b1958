import {
  to = packhorse_irsa_role.exports
  id = "exports"
}

resource "packhorse_irsa_role" "exports" {
  name             = "exports"
  service_accounts = [{ name = "exporter", namespace = "reports" }]
  identity         = "pod-identity"
  policies = {
    queue = jsonencode({
      Statement = [
        {
          Action = "sqs:*"
          Effect = "Allow"
          Resource = [
            "arn:aws:sqs:eu-west-1:123456789012:interruptions",
            "arn:aws:sqs:eu-west-1:123456789012:prod",
          ]
        },
      ]
    })
  }
}

import {
  to = packhorse_irsa_role.reports
  id = "reports"
}

resource "packhorse_irsa_role" "reports" {
  name                 = "reports"
  service_accounts     = [{ name = "writer", namespace = "reports" }]
  max_session_duration = 7200
  policies = {
    write = jsonencode({
      Statement = [
        {
          Action   = ["s3:PutObject"]
          Effect   = "Allow"
          Resource = "arn:aws:s3:::reports/$${aws:PrincipalTag/team}/*"
        },
      ]
      Version = "2012-10-17"
    })
  }
  policy_arns = ["arn:aws:iam::aws:policy/ReadOnlyAccess"]
  tags        = { team = "a" }
}

import {
  to = packhorse_irsa_role.stacked
  id = "stacked"
}

resource "packhorse_irsa_role" "stacked" {
  name             = "stacked"
  service_accounts = [{ name = "writer", namespace = "reports" }]
  tags             = { team = "a" }
}
