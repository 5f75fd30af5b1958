// Command image writes binaries as a container image for several platforms, in
// the OCI image layout, without a container engine. The same binaries give the same
// digest, which it prints. Beside it goes a bill of materials (SPDX) of the
// modules that each binary was built from.
//
//	image --name packhorse-agent --version 1.2.3 --out dist/image linux/amd64=dist/amd64/packhorse-agent linux/arm64=dist/arm64/packhorse-agent
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/tools/spdx"
)

func main() {
	name := flag.String("name", "", "`NAME` of the binary in the image")
	version := flag.String("version", "", "`VERSION`, which is the tag")
	out := flag.String("out", "", "`FOLDER` to write the layout into")
	flag.Parse()
	digest, err := build(*name, *version, *out, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
	fmt.Println(digest)
}

func build(name, version, out string, args []string) (digest string, err error) {
	if name == "" || version == "" || out == "" || len(args) == 0 {
		return "", errors.New("--name, --version, --out and at least one OS/ARCH=PATH are required")
	}
	var binaries []binary
	for _, arg := range args {
		b, err := parseBinary(arg)
		if err != nil {
			return "", err
		}
		binaries = append(binaries, b)
	}
	if digest, err = (layout{out}).write(name, version, binaries); err != nil {
		return "", err
	}
	for _, b := range binaries {
		bill, err := spdx.Document(name, version, b.path)
		if err != nil {
			return "", err
		}
		path := filepath.Join(out, fmt.Sprintf("%s_%s_%s.spdx.json", name, b.OS, b.Architecture))
		if err := os.WriteFile(path, bill, 0o644); err != nil {
			return "", err
		}
	}
	return digest, nil
}
