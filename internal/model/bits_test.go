package model

import "testing"

func TestBitset(t *testing.T) {
	b := NewBitset(130)
	for _, i := range []int{0, 64, 129} {
		b.Add(i)
	}
	var got []int
	for i := range b.All {
		got = append(got, i)
	}
	if len(got) != 3 || got[0] != 0 || got[1] != 64 || got[2] != 129 {
		t.Errorf("got %v", got)
	}
	o := NewBitset(130)
	o.Add(64)
	if !b.Meets(o) {
		t.Error("the sets meet")
	}
	b.Keep(o)
	if b.Has(0) || !b.Has(64) {
		t.Error("keep leaves the intersection")
	}
	o.Keep(NewBitset(130))
	if !o.Empty() || b.Meets(o) {
		t.Error("an empty set meets nothing")
	}
}
