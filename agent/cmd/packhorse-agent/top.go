package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/status"
)

// topOptions holds the flags of `top`.
type topOptions struct {
	url, namespace string
	access         clusterAccess
}

func topCommand() *cobra.Command {
	o := &topOptions{}
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Show the state of the cluster in the terminal, as the agent's status page does",
		Long: `top asks a running agent for its status and prints what the nodes cost and how
full they are, which pods wait and why, and which nodes will be removed and when.

The agent serves its status on localhost of its pod. top finds the leader and
forwards the port through the API server, as kubectl port-forward does. It needs
the right to read the lease and to forward ports in the agent's namespace.`,
		Example: `  packhorse-agent top
  watch packhorse-agent top
  packhorse-agent top --url http://localhost:8082`,
		Args:    cobra.NoArgs,
		PreRunE: prepare,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	cmd.Flags().StringVar(&o.url, "url", "", "`URL` of the agent's status page (default: found in the cluster)")
	cmd.Flags().StringVar(&o.namespace, "namespace", install.DefaultNamespace, "`NAMESPACE` of the agent")
	o.access.addFlags(cmd.Flags(), "$KUBECONFIG")
	return cmd
}

func (o *topOptions) run(ctx context.Context, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx) // ends what is forwarded
	defer cancel()
	base, err := o.reach(ctx)
	if err != nil {
		return err
	}
	s, err := askAt(ctx, base)
	if err != nil {
		return err
	}
	if !s.Leading {
		return fmt.Errorf("%s is a standby; only the leader has the status. Without --url, top finds the leader", base)
	}
	_, err = io.WriteString(out, s.Text())
	return err
}

// reach returns the URL of the agent.
func (o *topOptions) reach(ctx context.Context) (string, error) {
	if o.url != "" {
		return o.url, nil
	}
	access, err := o.access.direct()
	if err != nil {
		return "", fmt.Errorf("%w; or name the status page by --url", err)
	}
	return forwardToLeader(ctx, access, o.namespace, install.StatusPort)
}

func askAt(ctx context.Context, base string) (*status.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	where, err := url.Parse(base)
	if err != nil || where.Host == "" || !strings.HasPrefix(where.Scheme, "http") {
		return nil, fmt.Errorf("--url %q is not the URL of a status page, such as http://localhost:%d", base, install.StatusPort)
	}
	page := where.JoinPath("status.json").String()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the agent: %w", err)
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	if answer.StatusCode != http.StatusOK {
		if !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/plain") {
			return nil, fmt.Errorf("%s answers %q: this is not an agent's status page", page, answer.Status)
		}
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 1000))
		return nil, fmt.Errorf("ask %s: %s: %s", page, answer.Status, strings.TrimSpace(string(text)))
	}
	s := &status.Status{}
	if err := json.NewDecoder(answer.Body).Decode(s); err != nil {
		return nil, fmt.Errorf("read the answer of %s, which is not an agent's status: %w", page, err)
	}
	if s.Version == "" && s.Cluster == "" {
		return nil, fmt.Errorf("the answer of %s is not an agent's status: it names neither a version nor a cluster", page)
	}
	return s, nil
}
