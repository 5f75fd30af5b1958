package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/report"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/suite"
)

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure decisions side by side with the peer's scheduler",

		SilenceUsage: true, SilenceErrors: true,
	}
	cmd.AddCommand(runCommand(), reportCommand(), listCommand(), measureCommand(), worldsCommand(), tinyCommand(), ablationCommand())
	return cmd
}

func listCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the cases",
		Args:  cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) {
			for i := range suite.Cases {
				c := &suite.Cases[i]
				fmt.Fprintf(cmd.OutOrStdout(), "%-24s %6d pods, %s\n", c.Name, c.Pods, c.Title)
			}
		},
	}
}

// reportCommand writes what was measured before again.
func reportCommand() *cobra.Command {
	var from string
	p := &page{}
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Print what was measured before, and write its page",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := readMeasurement(from)
			if err != nil {
				return err
			}
			if err := p.write(m); err != nil {
				return err
			}
			_, err = io.WriteString(cmd.OutOrStdout(), report.Text(m.Outcomes))
			return err
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "`FILE` that run --json wrote")
	p.flags(cmd.Flags())
	return cmd
}

// single holds the flags of `measure`.
type single struct {
	name    string
	options suite.Options
}

// measureCommand is what `run` starts, once for each case and run.
func measureCommand() *cobra.Command {
	m := &single{}
	cmd := &cobra.Command{
		Use:    "measure",
		Short:  "Run one case in this process and print what came of it as JSON",
		Args:   cobra.NoArgs,
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := suite.Find(m.name)
			if c == nil {
				return fmt.Errorf("there is no case %q", m.name)
			}
			run, err := c.Execute(cmd.Context(), m.options)
			if err != nil {
				return err
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(run)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&m.name, "case", "", "NAME of the case")
	flags.BoolVar(&m.options.Peer, "peer", true, "measure the peer too")
	flags.BoolVar(&m.options.PeerFirst, "peer-first", false, "measure the peer first")
	flags.DurationVar(&m.options.Budget, "budget", 0, "effort to spend on a better packing")
	return cmd
}

// session holds the flags of `run`.
type session struct {
	cases    string
	runs     int
	quick    bool
	full     bool
	noPeer   bool
	budget   time.Duration
	json     string
	peerFrom string
	page     page
	commit   string
}

func runCommand() *cobra.Command {
	s := &session{}
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the cases, each in processes of its own, and print the table",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&s.cases, "cases", "", "`REGEXP` that the names of the cases match (default: all)")
	flags.IntVar(&s.runs, "runs", 3, "processes per case; medians are reported")
	flags.BoolVar(&s.quick, "quick", false, "one process per case")
	flags.BoolVar(&s.full, "full", false, "run the peer also where it takes a minute and more")
	flags.BoolVar(&s.noPeer, "no-peer", false, "leave the peer out")
	flags.DurationVar(&s.budget, "budget", 0, "effort to spend on a better packing (default: the agent's)")
	flags.StringVar(&s.json, "json", "", "write everything that was measured to `FILE`")
	flags.StringVar(&s.peerFrom, "peer-from", "", "take what was not measured of the peer from `FILE`, written with --json before")
	flags.StringVar(&s.commit, "commit", "", "the version of Packhorse that the report names (default: what this program was built from)")
	s.page.flags(flags)
	return cmd
}

func (s *session) run(ctx context.Context, out, progress io.Writer) error {
	wanted, err := regexp.Compile(s.cases)
	if err != nil {
		return fmt.Errorf("read --cases: %w", err)
	}
	before, err := readMeasurement(s.peerFrom)
	if err != nil {
		return err
	}
	m := &report.Measurement{Setting: report.Describe(s.commit)}
	for i := range suite.Cases {
		c := &suite.Cases[i]
		if !wanted.MatchString(c.Name) {
			continue
		}
		fmt.Fprintln(progress, c.Name)
		o, err := s.repeat(ctx, c)
		if err != nil {
			return err
		}
		o.Borrow(before.Outcomes)
		m.Outcomes = append(m.Outcomes, o)
	}
	if err := writeMeasurement(s.json, m); err != nil {
		return err
	}
	if err := s.page.write(m); err != nil {
		return err
	}
	_, err = io.WriteString(out, report.Text(m.Outcomes))
	return err
}

// repeat runs a case in processes of its own, every other one with the peer first.
func (s *session) repeat(ctx context.Context, c *suite.Case) (suite.Outcome, error) {
	var runs []*suite.Run
	n := s.runs
	if s.quick {
		n = 1
	}
	for i := range max(n, 1) {
		run, err := s.child(ctx, c, i%2 == 1)
		if err != nil {
			return suite.Outcome{}, err
		}
		runs = append(runs, run)
	}
	return suite.Combine(runs), nil
}

func (s *session) child(ctx context.Context, c *suite.Case, peerFirst bool) (*suite.Run, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, "measure", "--case", c.Name,
		"--peer="+strconv.FormatBool(!s.noPeer && (s.full || !c.Slow)),
		"--peer-first="+strconv.FormatBool(peerFirst), "--budget", s.budget.String())
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("measure %s: %w: %s", c.Name, err, bytes.TrimSpace(stderr.Bytes()))
	}
	run := &suite.Run{}
	if err := json.Unmarshal(stdout.Bytes(), run); err != nil {
		return nil, fmt.Errorf("read what was measured of %s: %w", c.Name, err)
	}
	return run, nil
}
