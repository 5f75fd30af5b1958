package lp

import (
	"math"
	"slices"
)

// kindStep is the part of a kind in a step. Of the equations of a step
//
//	(A·Θ·Aᵀ + D)·Δprices = h,
//
// where Θ and D are values divided by their partners, those for the prices of a kind's
// resources and of the most of its items have nothing to do with other kinds but for the
// prices of the rows. They are solved for these: first those of each item's most, one by
// one; then that of the machine itself, which is one number that all of them share (share);
// then those of the resources, of which there are few. What is left is added to the
// equations of the rows.
type kindStep struct {
	*DividedKind
	number     int
	item, room int // places of the first among all kinds
	scale      float64
	cost       float64
	need       []float64 // of the whole room, item by item, by the most of an item
	gives      []float64 // by item and row that it counts for: what its most has of what is asked
	fixed      []float64 // by entry of Fixed
	touched    []int     // rows
	at         [][]int   // by item: places of its rows among the touched
	fixedAt    []int

	part    []float64 // by item: φ, its weight where its most counts as well
	most    []float64 // by item: κ, the part of a change that its most takes over
	each    []float64 // by item: 1 / (θ + D)
	through []float64 // by resource: p, what is left to the machine
	rowsOf  []float64 // by touched row: g, what the machine has in it
	shared  float64   // E
	tie     []float64 // by resource and touched row: L⁻¹·(C - p·gᵀ/E), Q = L·Lᵀ
	lower   []float64 // L
	caps    []float64 // right sides of the equations of the items' most
	left    []float64 // of the resources, solved forward
	total   float64   // of the machine
	scratch []float64 // by touched row
	rooms   []float64 // steps of the resources' prices
}

func newKindStep(d *Divided, number, item, room int) kindStep {
	of := &d.Kinds[number]
	k := kindStep{DividedKind: of, number: number, item: item, room: room, scale: of.Count, at: make([][]int, len(of.Items))}
	if of.Cost > 0 {
		k.scale, k.cost = d.Price/of.Cost, 1
	}
	touch := func(row int) {
		if i, ok := slices.BinarySearch(k.touched, row); !ok {
			k.touched = slices.Insert(k.touched, i, row)
		}
	}
	for j := range of.Items {
		for _, e := range of.Items[j].Rows {
			touch(e.Row)
		}
	}
	for _, e := range of.Fixed {
		touch(e.Row)
	}
	place := func(row int) int {
		i, _ := slices.BinarySearch(k.touched, row)
		return i
	}
	for j := range of.Items {
		it := &of.Items[j]
		for _, e := range it.Rows {
			k.at[j] = append(k.at[j], place(e.Row))
			k.gives = append(k.gives, e.N*it.Most*k.scale/math.Abs(d.Demand[e.Row]))
		}
		for _, share := range of.Share[j*of.Rows : (j+1)*of.Rows] {
			k.need = append(k.need, share*it.Most)
		}
	}
	for _, e := range of.Fixed {
		k.fixedAt = append(k.fixedAt, place(e.Row))
		k.fixed = append(k.fixed, e.N*k.scale/math.Abs(d.Demand[e.Row]))
	}
	n, t := len(of.Items), len(k.touched)
	k.part, k.most, k.each, k.caps = make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	k.through, k.left, k.rooms = make([]float64, of.Rows), make([]float64, of.Rows), make([]float64, of.Rows)
	k.scratch = make([]float64, t)
	k.rowsOf, k.tie, k.lower = make([]float64, t), make([]float64, t*of.Rows), make([]float64, of.Rows*of.Rows)
	return k
}

// worth returns what an item's most is worth by prices of the touched rows.
func (k *kindStep) worth(j, give int, price []float64) float64 {
	sum := 0.0
	for i, at := range k.at[j] {
		sum += float64(k.gives[give+i] * price[k.touched[at]])
	}
	return sum
}

// pays returns what the resources that an item's most needs cost.
func (k *kindStep) pays(j int, price []float64) float64 {
	sum := 0.0
	for r, v := range k.need[j*k.Rows : (j+1)*k.Rows] {
		sum += float64(v * price[r])
	}
	return sum
}

// start puts something of each item on few machines, and sets prices of the resources.
func (k *kindStep) start(n *interior) {
	items, price := float64(max(1, len(k.Items))), n.dual[n.row:n.cap]
	value, most, load := make([]float64, len(k.Items)), make([]float64, len(k.Items)), make([]float64, k.Rows)
	give := 0
	for j := range k.Items {
		value[j], most[j] = k.worth(j, give, price), 1
		give += len(k.at[j])
		for r, v := range k.need[j*k.Rows : (j+1)*k.Rows] {
			load[r] += v
		}
	}
	p := NewPacking(k.Rows, k.need, most)
	p.Solve(value)
	machines := 1 / float64(len(n.kinds))
	part := 1.0
	for _, v := range load {
		part = max(part, v)
	}
	part = machines / (2 * part)
	lost := k.cost
	for r, v := range load {
		at := n.room + k.room + r
		n.value[at], n.dual[at] = machines-float64(v*part), p.Price[r]+begin/float64(k.Rows)
		lost -= n.dual[at]
	}
	for j, w := range value {
		gain := w - p.Pays(j)
		over := n.cap + k.item + j
		n.value[k.item+j], n.value[over] = part, machines-part
		n.dual[over] = max(0, gain) + begin/items
		n.dual[k.item+j] = max(0, -gain) + begin/items
		lost -= n.dual[over]
	}
	for i, at := range k.fixedAt {
		lost -= float64(k.fixed[i] * price[k.touched[at]])
	}
	n.value[n.kind+k.number], n.dual[n.kind+k.number] = machines, max(begin, lost)
}

func (k *kindStep) residuals(n *interior) {
	y, price := n.value[n.kind+k.number], n.dual[n.row:n.cap]
	rooms := n.dual[n.room+k.room:][:k.Rows]
	for r := range k.Rows {
		n.rest[n.room+k.room+r] = n.value[n.room+k.room+r] - y
	}
	lost, give := k.cost-n.dual[n.kind+k.number], 0
	for j := range k.Items {
		x, over := n.value[k.item+j], n.dual[n.cap+k.item+j]
		n.rest[n.cap+k.item+j] = x - y + n.value[n.cap+k.item+j]
		n.lost[k.item+j] = k.pays(j, rooms) + over - k.worth(j, give, price) - n.dual[k.item+j]
		lost -= over
		for r, v := range k.need[j*k.Rows : (j+1)*k.Rows] {
			n.rest[n.room+k.room+r] += float64(v * x)
		}
		for _, at := range k.at[j] {
			n.rest[n.row+k.touched[at]] -= float64(k.gives[give] * x)
			give++
		}
	}
	for _, v := range rooms {
		lost -= v
	}
	for i, at := range k.fixedAt {
		lost -= float64(k.fixed[i] * price[k.touched[at]])
		n.rest[n.row+k.touched[at]] -= float64(k.fixed[i] * y)
	}
	n.lost[n.kind+k.number] = lost
}

// factor solves the equations of the kind for the prices of rows, and adds what is left.
func (k *kindStep) factor(n *interior) {
	rows, t, m := k.Rows, len(k.touched), len(n.Demand)
	clear(k.rowsOf)
	clear(k.tie)
	clear(k.lower)
	for r := range rows {
		k.through[r] = 1
		at := n.room + k.room + r
		k.lower[r*rows+r] = n.value[at] / n.dual[at]
	}
	k.shared = n.dual[n.kind+k.number] / n.value[n.kind+k.number]
	give := 0
	for j := range k.Items {
		x, over := k.item+j, n.cap+k.item+j
		theta, d := n.value[x]/n.dual[x], n.value[over]/n.dual[over]
		k.each[j] = 1 / (theta + d)
		k.most[j] = theta * k.each[j]
		k.part[j] = k.most[j] * d
		k.shared += k.each[j]
		need := k.need[j*rows : (j+1)*rows]
		gives := k.gives[give : give+len(k.at[j])]
		give += len(gives)
		for r, v := range need {
			k.through[r] -= float64(k.most[j] * v)
			by := float64(k.part[j] * v)
			for q, other := range need[:r+1] {
				k.lower[r*rows+q] += float64(by * other)
			}
			for i, at := range k.at[j] {
				k.tie[r*t+at] += float64(by * gives[i])
			}
		}
		for i, at := range k.at[j] {
			k.rowsOf[at] += float64(k.most[j] * gives[i])
			by := float64(k.part[j] * gives[i])
			for q, other := range k.at[j] {
				if row, column := k.touched[at], k.touched[other]; column <= row {
					n.matrix[row*m+column] += float64(by * gives[q])
				}
			}
		}
	}
	for i, at := range k.fixedAt {
		k.rowsOf[at] += k.fixed[i]
	}
	k.reduce(n.matrix, m)
}

// reduce eliminates the machine and the resources.
func (k *kindStep) reduce(matrix []float64, m int) {
	rows, t := k.Rows, len(k.touched)
	for r, p := range k.through {
		by := p / k.shared
		for q, other := range k.through[:r+1] {
			k.lower[r*rows+q] += float64(by * other)
		}
		for i, g := range k.rowsOf {
			k.tie[r*t+i] -= float64(by * g)
		}
	}
	cholesky(k.lower, rows)
	for r := range rows {
		row := k.tie[r*t : (r+1)*t]
		for q, v := range k.lower[r*rows : r*rows+r] {
			for i, other := range k.tie[q*t : (q+1)*t] {
				row[i] -= float64(v * other)
			}
		}
		by := 1 / k.lower[r*rows+r]
		for i := range row {
			row[i] *= by
		}
	}
	for i, a := range k.touched {
		left, g := k.scratch[:i+1], k.rowsOf[i]/k.shared
		for j, v := range k.rowsOf[:i+1] {
			left[j] = float64(g * v)
		}
		r := 0
		for ; r+t < len(k.tie); r += 2 * t { // two at a time, since most of the time goes here
			x, y := k.tie[r+i], k.tie[r+t+i]
			b := k.tie[r+t : r+t+i+1][:len(left)]
			for j, v := range k.tie[r : r+i+1][:len(left)] {
				left[j] -= float64(x*v) + float64(y*b[j])
			}
		}
		if r < len(k.tie) {
			x := k.tie[r+i]
			for j, v := range k.tie[r : r+i+1][:len(left)] {
				left[j] -= float64(x * v)
			}
		}
		to := matrix[a*m : a*m+a+1]
		for j, v := range left {
			to[k.touched[j]] += v
		}
	}
}

// gather adds the kind's part of the right sides to those of the rows.
func (k *kindStep) gather(n *interior) {
	pull := n.pull(n.kind + k.number)
	for r := range k.Rows {
		at := n.room + k.room + r
		k.left[r] = n.rest[at] + n.target[at]/n.dual[at] - pull
	}
	k.total = 0
	give := 0
	for j := range k.Items {
		x, over := k.item+j, n.cap+k.item+j
		own := n.pull(x)
		k.caps[j] = n.rest[over] + n.target[over]/n.dual[over] - pull + own
		k.total += float64(k.each[j] * k.caps[j])
		by := float64(k.most[j] * k.caps[j])
		for r, v := range k.need[j*k.Rows : (j+1)*k.Rows] {
			k.left[r] += float64(v * (own - by))
		}
		for _, at := range k.at[j] {
			n.right[k.touched[at]] += float64(k.gives[give] * (by - own))
			give++
		}
	}
	for i, at := range k.fixedAt {
		n.right[k.touched[at]] -= float64(k.fixed[i] * pull)
	}
	by, t := k.total/k.shared, len(k.touched)
	for r, p := range k.through {
		k.left[r] -= float64(p * by)
	}
	forward(k.lower, k.Rows, k.left)
	for i, row := range k.touched {
		n.right[row] -= float64(k.rowsOf[i] * by)
		for r, v := range k.left {
			n.right[row] += float64(k.tie[r*t+i] * v)
		}
	}
}

// scatter sets the steps of the kind once those of the rows are known.
func (k *kindStep) scatter(n *interior) {
	t, price, rooms := len(k.touched), n.right, k.rooms
	machine := k.total
	for i, row := range k.touched {
		machine += float64(k.rowsOf[i] * price[row])
	}
	for r := range k.Rows {
		sum := k.left[r]
		for i, row := range k.touched {
			sum += float64(k.tie[r*t+i] * price[row])
		}
		rooms[r] = sum
	}
	backward(k.lower, k.Rows, rooms)
	for r, v := range rooms {
		machine += float64(k.through[r] * v)
		n.move(n.room+k.room+r, v)
	}
	machine /= k.shared
	give := 0
	for j := range k.Items {
		gain := k.pays(j, rooms) - k.worth(j, give, price)
		give += len(k.at[j])
		over := float64(k.each[j]*(k.caps[j]-machine)) - float64(k.most[j]*gain)
		n.move(n.cap+k.item+j, over)
		n.follow(k.item+j, -gain-over)
	}
	at := n.kind + k.number
	worth := float64(machine * n.dual[at] / n.value[at])
	n.follow(at, worth)
}
