package kubelet

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// machineType is the hardware of an instance type.
type machineType struct {
	cpus      int64
	memoryMiB int64
	arch      string // as Kubernetes names it
	// enis and addressesPerENI are limits of the default network card.
	enis, addressesPerENI int64
	localNVMeGB           int64 // all local disks together
	devices               map[corev1.ResourceName]int64
}

// gpuResources maps makers of GPUs, as the catalogue names them, to the resources
// that their device plugins advertise.
var gpuResources = map[string]corev1.ResourceName{
	"NVIDIA": "nvidia.com/gpu",
	"nvidia": "nvidia.com/gpu",
	"AMD":    "amd.com/gpu",
	"habana": "habana.ai/gaudi",
}

// neuronCores is the number of logical cores per Neuron device.
var neuronCores = map[string]int64{"Inferentia": 4, "Inferentia2": 2, "Trainium": 2, "Trainium2": 4}

// readMachineTypes reads the hardware of instance types from a CSV with a header
// row.
func readMachineTypes(catalogue []byte) (map[string]machineType, error) {
	rows, err := csv.NewReader(bytes.NewReader(catalogue)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read catalogue of instance types: %w", err)
	}
	if len(rows) == 0 {
		return nil, errors.New("read catalogue of instance types: it is empty")
	}
	columns := map[string]int{}
	for i, name := range rows[0] {
		columns[name] = i
	}
	types := make(map[string]machineType, len(rows)-1)
	for _, cells := range rows[1:] {
		r := row{columns: columns, cells: cells}
		parsed := r.machineType()
		if r.err != nil {
			return nil, fmt.Errorf("read catalogue of instance types: %q: %w", cells[0], r.err)
		}
		types[r.text("name")] = parsed
	}
	return types, nil
}

// row reads the cells of one row by the names of their columns, and keeps the first
// error.
type row struct {
	columns map[string]int
	cells   []string
	err     error
}

func (r *row) text(column string) string {
	i, ok := r.columns[column]
	if !ok {
		if r.err == nil {
			r.err = fmt.Errorf("there is no column %q", column)
		}
		return ""
	}
	return r.cells[i]
}

// number reads a whole number; an empty cell is 0.
func (r *row) number(column string) int64 {
	text := r.text(column)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("column %q: %w", column, err)
	}
	return n
}

func (r *row) machineType() machineType {
	t := machineType{
		cpus:            r.number("vcpus"),
		memoryMiB:       r.number("memory_mib"),
		arch:            "amd64",
		enis:            r.number("eni_max_default_card"),
		addressesPerENI: r.number("ipv4_per_eni"),
		localNVMeGB:     r.number("local_nvme_gb"),
		devices:         map[corev1.ResourceName]int64{},
	}
	if r.text("arch") == "arm64" {
		t.arch = "arm64"
	}
	gpus := r.number("gpu_count")
	if name, ok := gpuResources[r.text("gpu_manufacturer")]; ok && gpus > 0 {
		t.devices[name] = gpus
	}
	accelerators := r.number("accelerator_count")
	if cores, ok := neuronCores[r.text("accelerator_name")]; ok && accelerators > 0 {
		t.devices["aws.amazon.com/neuron"] = accelerators
		t.devices["aws.amazon.com/neuroncore"] = accelerators * cores
	}
	return t
}
