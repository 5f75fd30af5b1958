package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"
)

// span is what a number, or a duration in seconds, may be.
type span struct {
	least, most float64
	off         float64 // one value below the least that turns something off
	unit        time.Duration
}

// ranges are the values that make sense for a flag.
var ranges = map[string]span{
	"batch-idle":                 {least: 0, most: 60, unit: time.Second},
	"batch-max":                  {least: 0, most: 600, unit: time.Second},
	"startup-timeout":            {least: 1, most: 24 * 3600, unit: time.Second},
	"unhealthy-after":            {least: 1, most: 7 * 24 * 3600, off: -1, unit: time.Second},
	"min-node-lifetime":          {least: 0, most: 30 * 24 * 3600, off: -1, unit: time.Second},
	"node-cost":                  {least: 0, most: 100},
	"reserved-enis":              {least: 0, most: 15},
	"vm-memory-overhead-percent": {least: 1, most: 50, off: 0},
}

// checkRanges returns an error for the first flag, by name, that makes no sense.
func checkRanges(flags *pflag.FlagSet) error {
	var err error
	flags.VisitAll(func(f *pflag.Flag) {
		is, ranged := ranges[f.Name]
		if !ranged || err != nil {
			return
		}
		value, e := is.read(f.Value.String())
		if e != nil || value == is.off || is.least <= value && value <= is.most {
			return // what cannot be read was refused before
		}
		err = fmt.Errorf("--%s is %s: the nearest sensible value is %s", f.Name, f.Value, is.text(is.nearest(f.Name, value)))
	})
	return err
}

func (s span) read(text string) (float64, error) {
	if s.unit == 0 {
		return strconv.ParseFloat(text, 64)
	}
	d, err := time.ParseDuration(text)
	return d.Seconds(), err
}

// nearest is what was probably meant. The peer takes shares as fractions.
func (s span) nearest(flag string, value float64) float64 {
	if flag == "vm-memory-overhead-percent" && value > 0 {
		if percent := 100 * value; value < s.least && percent >= s.least {
			return percent
		}
	}
	return max(s.least, min(value, s.most))
}

func (s span) text(value float64) string {
	if s.unit == 0 {
		return strconv.FormatFloat(value, 'g', 6, 64)
	}
	return time.Duration(value * float64(s.unit)).String()
}
