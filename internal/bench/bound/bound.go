// Package bound computes lower bounds and optima independently of the decision
// core, with a general linear-programming solver.
package bound

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize/convex/lp" //nolint:misspell // the path is theirs

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/check"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/workload"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// tolerance of the solver's optimality test.
const tolerance = 1e-10

// program is: choose x ≥ 0 with column·x ≥ demand, row by row, at the least cost.
type program struct {
	demand  []float64
	columns [][]float64
	cost    []float64
}

// solve returns the least cost and the choice. Rows are scaled to a demand of one.
func (p *program) solve() (float64, []float64, error) {
	rows, n := 0, len(p.columns)
	for _, d := range p.demand {
		if d > 0 {
			rows++
		}
	}
	if rows == 0 {
		return 0, make([]float64, n), nil
	}
	a, b := mat.NewDense(rows, n+rows, nil), make([]float64, rows)
	at := 0
	for r, d := range p.demand {
		if d <= 0 {
			continue
		}
		for k, column := range p.columns {
			a.Set(at, k, column[r]/d)
		}
		a.Set(at, n+at, -1)
		b[at] = 1
		at++
	}
	cost, x, err := lp.Simplex(append(slices.Clone(p.cost), make([]float64, rows)...), a, b, tolerance, nil)
	if err != nil {
		return 0, nil, fmt.Errorf("solve a program of %d rows and %d columns: %w", rows, n, err)
	}
	return cost, x[:n], nil
}

// Resources returns the least price of machines that have, all together, what the
// pods ask for all together, in dollars per hour. Constraints are left out, except
// that a machine holds one pod at most of those that repel each other by host. No
// plan for all pods that buys only new machines can be cheaper.
func Resources(w *workload.Workload) (float64, error) {
	names, demand := requests(w)
	groups := repelling(w.Pods)
	for _, n := range groups {
		demand = append(demand, float64(n))
	}
	p := &program{demand: demand}
	for i := range w.Types {
		t := &w.Types[i]
		room, column := t.Allocatable(), []float64(nil)
		for _, name := range names {
			column = append(column, float64(room[name]))
		}
		for range groups {
			column = append(column, 1)
		}
		if slices.Max(column) > 0 {
			p.columns, p.cost = append(p.columns, column), append(p.cost, cheapest(t).Dollars())
		}
	}
	p.drop()
	cost, _, err := p.solve()
	return cost, err
}

// drop leaves out columns that another one beats in every row and in cost.
func (p *program) drop() {
	beats := func(a, b int) bool {
		if p.cost[a] > p.cost[b] {
			return false
		}
		equal := p.cost[a] == p.cost[b]
		for r, d := range p.demand {
			if d > 0 && p.columns[a][r] < p.columns[b][r] {
				return false
			}
			equal = equal && p.columns[a][r] == p.columns[b][r]
		}
		return !equal || a < b
	}
	var columns [][]float64
	var cost []float64
	for b := range p.columns {
		if !slices.ContainsFunc(indices(len(p.columns)), func(a int) bool { return a != b && beats(a, b) }) {
			columns, cost = append(columns, p.columns[b]), append(cost, p.cost[b])
		}
	}
	p.columns, p.cost = columns, cost
}

func indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func cheapest(t *offer.InstanceType) offer.Price {
	least := t.Offerings[0].Price
	for _, o := range t.Offerings {
		least = min(least, o.Price)
	}
	return least
}

// requests sums up what the pods ask for, by resource.
func requests(w *workload.Workload) ([]string, []float64) {
	total := amount.List{}
	for _, p := range w.Pods {
		for name, v := range check.Requests(p) {
			total[name] += v
		}
	}
	var sums []float64
	names := total.Names()
	for _, name := range names {
		sums = append(sums, float64(total[name]))
	}
	return names, sums
}

// repelling returns the sizes of the groups of pods of which a host holds one at
// most, because each of them forbids pods with the labels that they all have.
func repelling(pods []*corev1.Pod) []int {
	var out []int
	known := map[string]int{}
	for _, p := range pods {
		key := ownRepulsion(p)
		if key == "" {
			continue
		}
		if at, ok := known[key]; ok {
			out[at]++
		} else {
			known[key] = len(out)
			out = append(out, 1)
		}
	}
	return out
}

// ownRepulsion names the selector by which a pod keeps pods of its own labels off
// its host; empty where it does not.
func ownRepulsion(p *corev1.Pod) string {
	if p.Spec.Affinity == nil || p.Spec.Affinity.PodAntiAffinity == nil {
		return ""
	}
	for _, t := range p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		if t.TopologyKey == corev1.LabelHostname && t.LabelSelector != nil && selects(t.LabelSelector.MatchLabels, p.Labels) && len(t.LabelSelector.MatchExpressions) == 0 {
			return fmt.Sprint(p.Namespace, t.LabelSelector.MatchLabels)
		}
	}
	return ""
}

func selects(wanted, labels map[string]string) bool {
	for key, value := range wanted {
		if labels[key] != value {
			return false
		}
	}
	return true
}
