package purchase

// Pods of an owner that grows step by step are followed by more of their kind, as far
// as one can tell. Small machines cost more for each pod than large ones, most of all
// those that are bought for what is left over of a step. So where pods are bought for
// that are all alike, room for some of those to come counts as worth what they cost on
// the best machines, times the chance that they come. More room than for as many as
// are bought for is worth nothing.

// goesOn is the chance that an owner takes another step which has gone on to another
// twice in a row: (2 + 1) of (2 + 2), by the rule of succession.
const goesOn = 0.75
