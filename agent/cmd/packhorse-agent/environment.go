package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
)

// fromEnvironment sets the flags that were not given from PACKHORSE_* variables.
func fromEnvironment(flags *pflag.FlagSet) error {
	var err error
	flags.VisitAll(func(f *pflag.Flag) {
		name := variable(f.Name)
		value, given := os.LookupEnv(name)
		if f.Changed || !given || err != nil {
			return
		}
		if e := flags.Set(f.Name, value); e != nil {
			err = fmt.Errorf("read %s: %w", name, e)
		}
	})
	return err
}

// variable is the environment variable of a flag.
func variable(flag string) string {
	return "PACKHORSE_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}
