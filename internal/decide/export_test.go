package decide

// Verify is verify, for the scenarios, which also look at the explanation and so
// live in a package of their own.
func Verify(t reporter, in *Input, p *Plan) { verify(t, in, p) }
