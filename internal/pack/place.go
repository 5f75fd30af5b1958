package pack

// placer finds places on nodes that exist, and says what is to be bought for the other pods.
type placer struct {
	*Assignment
	joint int // joint options made so far
}

// place finds places for the pods of a class at a level: on nodes that exist,
// or else in lots to be bought.
func (s *placer) place(c *class, level level) []*lot {
	o, ok := s.optionsAt(c, level)
	if !ok {
		return nil
	}
	if len(c.Keys) > 0 {
		return s.placeByDomain(c, o, level)
	}
	s.fill(c, o, level)
	if c.open() == 0 {
		return nil
	}
	l, ok := s.lotFor(c, level, o)
	if !ok {
		return nil
	}
	l.n = c.open()
	c.booked += l.n
	return []*lot{l}
}

// placeAll places the classes on nodes and returns the lots to be bought. A
// class whose affinity waits for another class is tried again after it.
func (s *placer) placeAll(open []*class) []*lot {
	s.fillEvenly(open)
	var lots []*lot
	waiting := s.plainLast(open)
	for len(waiting) > 0 {
		var again []*class
		progress := false
		for _, c := range waiting {
			before := c.open()
			lots = append(lots, s.place(c, c.level)...)
			progress = progress || c.open() < before
			if c.open() > 0 && len(c.Affinities()) > 0 {
				again = append(again, c)
			}
		}
		if !progress {
			break
		}
		waiting = again
	}
	return lots
}
