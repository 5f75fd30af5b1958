package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/irsa"
)

// issuerKey is where the private state holds the issuerRecord. A role of which
// nothing is recorded has just been imported.
const issuerKey = "issuer"

// issuerRecord remembers what this role has made besides itself.
type issuerRecord struct {
	// Created is the ARN of the IAM OIDC provider that it has created, if any.
	Created string `json:"created,omitempty"`
}

func (r issuerRecord) save(ctx context.Context, private privateState) diag.Diagnostics {
	raw, err := json.Marshal(r)
	if err != nil {
		return diag.Diagnostics{diag.NewErrorDiagnostic("record the OIDC provider: "+err.Error(), "")}
	}
	return private.SetKey(ctx, issuerKey, raw)
}

func loadIssuerRecord(ctx context.Context, private privateState) (issuerRecord, diag.Diagnostics) {
	raw, diags := private.GetKey(ctx, issuerKey)
	var record issuerRecord
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &record); err != nil {
			diags.AddError("read which OIDC provider the role has made: "+err.Error(), "")
		}
	}
	return record, diags
}

// trustIssuer makes sure that IAM knows the issuer's OIDC provider.
func (r *irsaRole) trustIssuer(ctx context.Context, roles *irsa.Roles, m *irsaModel) (issuerRecord, error) {
	arn := m.OIDCProviderARN.ValueString()
	known, err := roles.HasProvider(ctx, arn)
	if err != nil || known {
		return issuerRecord{}, err
	}
	if !m.CreateOIDCProvider.ValueBool() {
		return issuerRecord{}, fmt.Errorf("IAM has no OIDC provider for %s: set `create_oidc_provider = true`, or create it", m.OIDCIssuerURL.ValueString())
	}
	created, err := roles.CreateProvider(ctx, m.OIDCIssuerURL.ValueString(), mapStrings(m.TagsAll))
	if err != nil || !created {
		return issuerRecord{}, err
	}
	return issuerRecord{Created: arn}, nil
}

// undoIssuer takes an OIDC provider back whose role could not be made.
func (r *irsaRole) undoIssuer(ctx context.Context, roles *irsa.Roles, record issuerRecord, cause error) error {
	if record.Created == "" {
		return cause
	}
	return errors.Join(cause, roles.DeleteProvider(ctx, record.Created))
}
