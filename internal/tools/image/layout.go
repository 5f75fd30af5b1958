package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// The media types of the OCI image specification
// (https://github.com/opencontainers/image-spec).
const (
	indexType    = "application/vnd.oci.image.index.v1+json"
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// user is nobody's, as in distroless images.
const user = "65532:65532"

// descriptor points to a blob.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

// layout is an OCI image layout in a folder.
type layout struct{ dir string }

func (l layout) blob(mediaType string, content []byte) (descriptor, error) {
	sum := sha256.Sum256(content)
	name := hex.EncodeToString(sum[:])
	path := filepath.Join(l.dir, "blobs", "sha256", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return descriptor{}, err
	}
	return descriptor{MediaType: mediaType, Digest: "sha256:" + name, Size: int64(len(content))}, os.WriteFile(path, content, 0o644)
}

func (l layout) document(mediaType string, value any) (descriptor, error) {
	content, err := json.Marshal(value)
	if err != nil {
		return descriptor{}, err
	}
	return l.blob(mediaType, content)
}

// binary is the program for one platform.
type binary struct {
	platform
	path string
}

// image writes the image of one platform: the binary alone, in a layer that has no
// times and no owners but root.
func (l layout) image(name, version string, b binary) (descriptor, error) {
	program, err := os.ReadFile(b.path)
	if err != nil {
		return descriptor{}, err
	}
	content, plain, err := pack(name, program)
	if err != nil {
		return descriptor{}, err
	}
	layer, err := l.blob(layerType, content)
	if err != nil {
		return descriptor{}, err
	}
	labels := map[string]string{"org.opencontainers.image.title": name, "org.opencontainers.image.version": version, "org.opencontainers.image.licenses": "MPL-2.0"}
	config, err := l.document(configType, map[string]any{
		"architecture": b.Architecture, "os": b.OS,
		"config": map[string]any{"Entrypoint": []string{"/" + name}, "User": user, "WorkingDir": "/", "Labels": labels},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{plain}},
	})
	if err != nil {
		return descriptor{}, err
	}
	manifest, err := l.document(manifestType, map[string]any{
		"schemaVersion": 2, "mediaType": manifestType, "config": config, "layers": []descriptor{layer}, "annotations": labels,
	})
	manifest.Platform = &b.platform
	return manifest, err
}

// pack returns the layer, and the digest of what it is before compression.
func pack(name string, program []byte) (content []byte, plain string, err error) {
	var archive, compressed bytes.Buffer
	w := tar.NewWriter(&archive)
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(program)), Format: tar.FormatUSTAR}); err != nil {
		return nil, "", err
	}
	if _, err := w.Write(program); err != nil {
		return nil, "", err
	}
	if err := w.Close(); err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256(archive.Bytes())
	z, err := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
	if err != nil {
		return nil, "", err
	}
	if _, err := io.Copy(z, &archive); err != nil {
		return nil, "", err
	}
	err = z.Close()
	return compressed.Bytes(), "sha256:" + hex.EncodeToString(sum[:]), err
}

// write writes the layout of an image for several platforms, and returns its digest.
func (l layout) write(name, version string, binaries []binary) (string, error) {
	var manifests []descriptor
	for _, b := range binaries {
		manifest, err := l.image(name, version, b)
		if err != nil {
			return "", fmt.Errorf("write the image for %s/%s: %w", b.OS, b.Architecture, err)
		}
		manifests = append(manifests, manifest)
	}
	all, err := l.document(indexType, map[string]any{"schemaVersion": 2, "mediaType": indexType, "manifests": manifests})
	if err != nil {
		return "", err
	}
	all.Annotations = map[string]string{"org.opencontainers.image.ref.name": version}
	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": indexType, "manifests": []descriptor{all}})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(l.dir, "index.json"), index, 0o644); err != nil {
		return "", err
	}
	return all.Digest, os.WriteFile(filepath.Join(l.dir, "oci-layout"), []byte(`{"imageLayoutVersion":"1.0.0"}`), 0o644)
}

// parseBinary reads OS/ARCH=PATH.
func parseBinary(text string) (binary, error) {
	target, path, found := strings.Cut(text, "=")
	system, architecture, both := strings.Cut(target, "/")
	if !found || !both || path == "" {
		return binary{}, fmt.Errorf("%q must be OS/ARCH=PATH, such as linux/arm64=dist/packhorse-agent", text)
	}
	return binary{platform{architecture, system}, path}, nil
}
