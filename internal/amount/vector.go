package amount

// Copies returns how often a vector of needs fits into the room, at most limit. A
// resource that is not needed does not matter.
func Copies(need, room []int64, limit int64) int64 {
	for r, n := range need {
		if n > 0 {
			if room[r] < n {
				return 0
			}
			limit = min(limit, room[r]/n)
		}
	}
	return limit
}

// GCD returns the greatest common divisor; that of a number and 0 is the number.
func GCD(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
