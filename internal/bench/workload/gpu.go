package workload

import corev1 "k8s.io/api/core/v1"

// traceShape is a size and how often it occurs.
type traceShape struct {
	size
	pods int64
}

// gpuTrace holds the most frequent pod shapes of a production GPU cluster, from
// Alibaba's published openb trace of 2023 (8,152 Kubernetes pods, of which these
// are nine tenths). A request for a part of a GPU counts as a whole one.
var gpuTrace = []traceShape{
	{size{3152, 5600, 1}, 1592}, {size{11300, 49152, 1}, 857}, {size{11908, 47104, 1}, 778},
	{size{11400, 48128, 1}, 534}, {size{8000, 30517, 1}, 486}, {size{12500, 57344, 0}, 364},
	{size{32000, 49152, 0}, 284}, {size{18708, 64512, 1}, 255}, {size{9810, 41560, 1}, 195},
	{size{4000, 22888, 1}, 189}, {size{4000, 15258, 1}, 182}, {size{8000, 30517, 0}, 163},
	{size{12000, 24576, 1}, 158}, {size{15700, 58368, 1}, 158}, {size{4152, 10600, 1}, 152},
	{size{4000, 30517, 1}, 136}, {size{15400, 51200, 0}, 120}, {size{16000, 32768, 1}, 108},
	{size{8000, 16384, 1}, 104}, {size{4000, 24576, 1}, 104}, {size{12000, 16384, 1}, 99},
	{size{16500, 51200, 0}, 95}, {size{14200, 58368, 1}, 93}, {size{24200, 93184, 1}, 84},
	{size{11400, 77824, 1}, 65}, {size{8000, 32768, 1}, 55}, {size{6000, 6144, 1}, 51},
	{size{11900, 77824, 1}, 51}, {size{12000, 15360, 1}, 44}, {size{8200, 33792, 1}, 41},
	{size{4000, 31250, 1}, 40}, {size{15200, 80896, 1}, 36}, {size{16000, 65536, 1}, 33},
	{size{6000, 12288, 1}, 29}, {size{6000, 22888, 1}, 28}, {size{16400, 125952, 1}, 27},
	{size{1000, 2048, 1}, 26}, {size{88000, 327680, 8}, 18}, {size{6000, 18432, 1}, 18},
	{size{64200, 263168, 8}, 18}, {size{11300, 37888, 1}, 16}, {size{1000, 6144, 1}, 15},
	{size{7000, 30000, 1}, 11}, {size{11400, 57344, 0}, 11}, {size{8000, 15625, 0}, 11},
}

// GPUs draws pods from gpuTrace, for general types and those with GPUs.
func GPUs(n int) *Workload {
	w := &Workload{Types: ec2(withGPUs)}
	total := int64(0)
	for _, s := range gpuTrace {
		total += s.pods
	}
	r := random(8)
	for range n {
		u := r.Int64N(total)
		for _, s := range gpuTrace {
			if u -= s.pods; u < 0 {
				w.add(s.size)
				break
			}
		}
	}
	return w
}

// largestJob is the most cores that a job of JobShapes asks for.
const largestJob = 24_000

// JobShapes draws what the pods of gpuTrace ask for of CPU and memory, leaving out the few
// that fill a large machine.
func JobShapes(seed uint64) func() corev1.ResourceList {
	r := random(seed)
	return func() corev1.ResourceList {
		for {
			total := int64(0)
			for _, s := range gpuTrace {
				total += s.pods
			}
			u := r.Int64N(total)
			for _, s := range gpuTrace {
				if u -= s.pods; u < 0 {
					if s.cpu <= largestJob {
						return size{cpu: s.cpu, memory: s.memory}.requests()
					}
					break
				}
			}
		}
	}
}
