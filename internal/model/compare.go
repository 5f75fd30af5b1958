package model

import "cmp"

// CmpBool puts false before true.
func CmpBool(a, b bool) int { return cmp.Compare(boolByte(a), boolByte(b)) }

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}
