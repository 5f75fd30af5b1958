// Command artifacts makes what a release has besides the archives and checksums that
// goreleaser writes. The same input always gives the same file.
//
//	artifacts bill       --name packhorse-agent --version 1.2.3 --out FILE BINARY   a bill of materials (SPDX)
//	artifacts chart      --version 1.2.3 --out FILE FOLDER                          a package of a Helm chart
//	artifacts provenance --version 1.2.3 --commit SHA --out FILE FOLDER             where the files of a folder come from (in-toto, SLSA)
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/tools/spdx"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

const usage = "the first argument is bill, chart or provenance, and --version, --out and one path are required; see the comment at the top of main.go"

func run(args []string) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	name := flags.String("name", "", "`NAME` of the program")
	version := flags.String("version", "", "`VERSION` of the release")
	commit := flags.String("commit", "", "`SHA` of the commit")
	out := flags.String("out", "", "`FILE` to write")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if *version == "" || *out == "" || flags.NArg() != 1 {
		return errors.New(usage)
	}
	made, err := content(args[0], *name, *version, *commit, flags.Arg(0))
	if err != nil {
		return err
	}
	return os.WriteFile(*out, made, 0o644)
}

func content(what, name, version, commit, path string) ([]byte, error) {
	switch what {
	case "bill":
		return spdx.Document(name, version, path)
	case "chart":
		return chart(os.DirFS(path), version)
	case "provenance":
		return provenance(os.DirFS(path), version, commit)
	default:
		return nil, fmt.Errorf("%q: %s", what, usage)
	}
}
