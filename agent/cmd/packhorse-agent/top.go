package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/status"
)

// glimpse holds the flags of `top`.
type glimpse struct {
	url                            string
	kubeconfig, context, namespace string
	every                          time.Duration
	once                           bool
	columns                        func() (width, height int, terminal bool)

	// forwarded is the URL of a port that is forwarded until forget is called.
	forwarded string
	forget    context.CancelFunc
}

func topCommand() *cobra.Command {
	g := &glimpse{}
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Show the state of the cluster in the terminal, as the agent's status page does",
		Long: `top asks a running agent for its status and shows what the nodes cost and how
full they are, which pods wait and why, which nodes go and when. On a terminal it
keeps itself up to date; elsewhere it prints once. It shows colours on a terminal
only, and none if NO_COLOR is set.

The agent serves its status on localhost of its pod. top finds the one that leads
and forwards the port through the API server, as kubectl port-forward does; it
needs the right to read the lease and to forward ports in the agent's namespace.`,
		Example: `  packhorse-agent top
  packhorse-agent top --once | less
  packhorse-agent top --url http://localhost:8082`,
		Args:    cobra.NoArgs,
		PreRunE: prepare,
		RunE:    func(cmd *cobra.Command, _ []string) error { return g.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	cmd.Flags().StringVar(&g.url, "url", "", "`URL` of the agent's status page (default: found in the cluster)")
	cmd.Flags().StringVar(&g.namespace, "namespace", install.DefaultNamespace, "`NAMESPACE` of the agent")
	cmd.Flags().StringVar(&g.kubeconfig, "kubeconfig", "", "`FILE` to reach the cluster by (default: $KUBECONFIG)")
	cmd.Flags().StringVar(&g.context, "kube-context", "", "`NAME` of a context in the kubeconfig (default: its current one)")
	cmd.Flags().DurationVar(&g.every, "interval", 2*time.Second, "how often to refresh")
	cmd.Flags().BoolVar(&g.once, "once", false, "print once, even on a terminal")
	g.columns = terminalSize
	return cmd
}

// terminalSize is that of standard output.
func terminalSize() (width, height int, terminal bool) {
	fd := int(os.Stdout.Fd())
	if !term.IsTerminal(fd) {
		return 0, 0, false
	}
	width, height, err := term.GetSize(fd)
	return width, height, err == nil
}

func (g *glimpse) run(ctx context.Context, out io.Writer) error {
	defer func() {
		if g.forget != nil {
			g.forget()
		}
	}()
	for {
		width, height, terminal := g.columns()
		s, err := g.ask(ctx)
		switch {
		case err != nil && (g.once || !terminal):
			return err
		case g.once || !terminal:
			text := status.Text{Width: width, Colour: terminal && os.Getenv("NO_COLOR") == ""}
			_, err := io.WriteString(out, text.Render(s))
			return err
		}
		if err := g.refresh(out, s, err, width, height); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(g.every):
		}
	}
}

// What is sent to a terminal: go to the corner, clear to the end of the line, clear
// what is below. Nothing flickers, because nothing is cleared before it is rewritten.
const (
	home      = "\x1b[H"
	clearLine = "\x1b[K\n"
	clearRest = "\x1b[J"
	// listed is how many lists share the height of a terminal.
	listed = 6
)

// refresh writes over what is on the terminal.
func (g *glimpse) refresh(out io.Writer, s *status.Status, problem error, width, height int) error {
	var text string
	if problem != nil {
		text = fmt.Sprintf("No answer: %v\nTrying again every %s; Ctrl-C ends.\n", problem, g.every)
	} else {
		view := status.Text{Width: width, Colour: os.Getenv("NO_COLOR") == "", Rows: max(3, height/listed)}
		text = view.Render(s)
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if height > 1 && len(lines) > height-1 {
		lines = lines[:height-1]
	}
	_, err := io.WriteString(out, home+strings.Join(lines, clearLine)+clearLine+clearRest)
	return err
}

// ask gets the status. An agent that gives no answer is looked for again the next
// time: another one may lead.
func (g *glimpse) ask(ctx context.Context) (*status.Status, error) {
	base, err := g.reach(ctx)
	if err != nil {
		return nil, err
	}
	s, err := askAt(ctx, base)
	if g.forget != nil && (err != nil || !s.Leading) {
		g.forget()
		g.forwarded, g.forget = "", nil
	}
	return s, err
}

// reach returns the URL of the agent.
func (g *glimpse) reach(ctx context.Context) (string, error) {
	if g.url != "" {
		return g.url, nil
	}
	if g.forwarded != "" {
		return g.forwarded, nil
	}
	access, err := kube.RESTConfig(g.kubeconfig, g.context)
	if err != nil {
		return "", fmt.Errorf("%w; or name the status page by --url", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	if g.forwarded, err = forwardToLeader(ctx, access, g.namespace, install.StatusPort); err != nil {
		cancel()
		return "", err
	}
	g.forget = cancel
	return g.forwarded, nil
}

func askAt(ctx context.Context, base string) (*status.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	url := strings.TrimSuffix(base, "/") + "/status.json"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("--url %q: %w", base, err)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the agent: %w", err)
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 1000))
		return nil, fmt.Errorf("ask %s: %s: %s", url, answer.Status, strings.TrimSpace(string(text)))
	}
	s := &status.Status{}
	if err := json.NewDecoder(answer.Body).Decode(s); err != nil {
		return nil, fmt.Errorf("read the answer of %s, which is no agent's status: %w", url, err)
	}
	return s, nil
}
