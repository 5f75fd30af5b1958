// Package validate holds the rules for Provisioners and node profiles, and says of what
// breaks them what would be right.
//
// # What is refused where
//
// The API server refuses by the CRD's schema and CEL rules all that concerns one
// field or its neighbours. The Go validation repeats these rules with the nearest
// valid value in the message, and adds what CEL cannot say or should not:
//
//   - requirements, instanceTypes and labels that no value of a label can meet
//     together, such as In [a] with NotIn [a]. The API server accepts such an
//     object, so that objects that exist stay readable and writable; a plan, the
//     validate command and the agent (condition Ready=False) refuse it. In and
//     NotIn on one key are fine as long as a value remains;
//   - the fields of the inline provider, which the CRD keeps as they are;
//   - the fields of cron expressions, the syntax of annotations, and selectors
//     that can match nothing.
package validate
