package consolidate

// SplitBatch divides a batch that cannot go together, so that both parts are smaller: into those that can be spared
// and the needy, or else into halves.
func SplitBatch[T any](batch []T, needy func(T) bool) (spared, others []T) {
	for _, one := range batch {
		if needy(one) {
			others = append(others, one)
		} else {
			spared = append(spared, one)
		}
	}
	if len(spared) == 0 || len(others) == 0 {
		return batch[:len(batch)/2], batch[len(batch)/2:]
	}
	return spared, others
}
