package offer

import (
	"bytes"
	_ "embed" // the instance type table
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/decode"
)

// Catalogue lists instance types and what each region asks for them.
type Catalogue struct {
	// Source says where the data comes from ("embedded", "file", "EC2"); At is
	// when it was gathered, zero where that is not known.
	Source string    `json:"source"`
	At     time.Time `json:"at,omitzero"`
	// Hardware is sorted by name.
	Hardware []Hardware         `json:"hardware"`
	Regions  map[string]*Region `json:"regions"`

	labelsOnce sync.Once
	labelCache []map[string][]string // by index into Hardware
}

// Region is what a region sells.
type Region struct {
	// ZoneIDs maps the names of its zones to their ids, which may be empty.
	ZoneIDs map[string]string `json:"zoneIDs"`
	// Sales are by instance type; a type that is not there is not sold.
	Sales map[string]Sale `json:"sales"`
}

// Sale is how a region sells one instance type.
type Sale struct {
	Zones []string `json:"zones"` // sorted
	// OnDemand is the price in every zone; 0 where it is not known, and then it is not offered.
	OnDemand Price `json:"onDemand,omitempty"`
	// Spot is the price by zone; a zone that is not there does not offer it.
	Spot map[string]Price `json:"spot,omitempty"`
	// Estimate marks prices that were not published for this region.
	Estimate bool `json:"estimate,omitempty"`
}

//go:embed catalogue/instance-types.csv
var embeddedCSV []byte

// EmbeddedCSV returns the table of instance types that is compiled in.
func EmbeddedCSV() []byte { return bytes.Clone(embeddedCSV) }

// Embedded returns the catalogue that is compiled in. It is shared: do not change it.
var Embedded = sync.OnceValue(func() *Catalogue {
	c, err := ReadCatalogue(bytes.NewReader(embeddedCSV))
	if err != nil {
		panic(fmt.Sprintf("read the embedded catalogue: %v", err)) // a test reads it
	}
	c.Source = "embedded"
	return c
})

// NewCatalogue makes a catalogue of the hardware, which it sorts.
func NewCatalogue(source string, at time.Time, hardware []Hardware, regions map[string]*Region) *Catalogue {
	c := &Catalogue{Source: source, At: at, Hardware: hardware, Regions: regions}
	slices.SortFunc(c.Hardware, func(a, b Hardware) int { return strings.Compare(a.Name, b.Name) })
	return c
}

// OpenCatalogue reads a file with ReadCatalogue. A catalogue without a time is as old as its
// file.
func OpenCatalogue(path string) (*Catalogue, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	c, err := ReadCatalogue(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if info, err := file.Stat(); err == nil && c.At.IsZero() {
		c.At = info.ModTime()
	}
	return c, nil
}

// ReadCatalogue reads either a table in CSV with the columns of the embedded one
// or a catalogue saved by WriteJSON. Errors name line and column, and leave it to the
// caller to name the file.
func ReadCatalogue(r io.Reader) (*Catalogue, error) {
	data, err := io.ReadAll(r)
	if of, ok := errors.AsType[*fs.PathError](err); ok {
		err = of.Err // without the name
	}
	if err != nil {
		return nil, err
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // which Excel and PowerShell write in front
	switch text := bytes.TrimSpace(data); {
	case len(text) == 0:
		return nil, errors.New("the catalogue is empty; " + forms)
	case text[0] == '{':
		return readJSON(text)
	}
	return readCSV(bytes.NewReader(data))
}

// forms is what a catalogue may be.
const forms = "save one with `packhorse-agent catalogue`, or write a table with at least the columns name, vcpus, memory_mib and arch"

// readJSON refuses fields that it does not know: what they say would be left out.
func readJSON(text []byte) (*Catalogue, error) {
	var c Catalogue
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&c)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errors.New("the JSON ends in the middle of an object; the file may be cut off: save it again")
	}
	if err != nil {
		return nil, fmt.Errorf("the JSON is not what `packhorse-agent catalogue` saves: %s", problemsOf(text, err))
	}
	if rest := bytes.TrimSpace(text[decoder.InputOffset():]); len(rest) > 0 {
		return nil, fmt.Errorf("%s follows the catalogue, which is one JSON object; remove it", decode.Show(string(rest)))
	}
	return checked(NewCatalogue(c.Source, c.At, c.Hardware, c.Regions))
}

// problemsOf says which fields of a catalogue are not as they should be: those that the
// decoder of custom resources finds, which names values and places, or else the given one.
func problemsOf(text []byte, known error) string {
	if tree, err := decode.Tree(text); err == nil {
		warnings, errs := decode.Decoder{Foreign: true}.Decode(tree, &Catalogue{}, nil)
		if found := slices.Concat(errs, warnings); len(found) > 0 {
			return found.Summary()
		}
	}
	return known.Error()
}

// WriteJSON saves the catalogue for ReadCatalogue.
func (c *Catalogue) WriteJSON(w io.Writer) error {
	if err := json.NewEncoder(w).Encode(c); err != nil {
		return fmt.Errorf("write catalogue: %w", err)
	}
	return nil
}

// Region returns what a region sells. The error for an unknown one lists those
// that the catalogue has.
func (c *Catalogue) Region(name string) (*Region, error) {
	if r := c.Regions[name]; r != nil {
		return r, nil
	}
	known := slices.Sorted(maps.Keys(c.Regions))
	return nil, fmt.Errorf("the %s catalogue has no prices for region %q, only for %s; save those of the region with `packhorse-agent catalogue --region %s > catalogue.json` and name the file with --catalogue, or in the provider block with catalogue_file",
		c.Source, name, strings.Join(known, ", "), name)
}

// Find returns the hardware of an instance type.
func (c *Catalogue) Find(name string) (*Hardware, bool) {
	i, found := slices.BinarySearchFunc(c.Hardware, name, func(h Hardware, n string) int { return strings.Compare(h.Name, n) })
	if !found {
		return nil, false
	}
	return &c.Hardware[i], true
}

// Values lists the values that a label has on the hardware, sorted.
func (c *Catalogue) Values(key string) []string {
	var out []string
	for _, labels := range c.labels() {
		out = append(out, labels[key]...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// labels are the hardware's labels; they are computed once and shared.
func (c *Catalogue) labels() []map[string][]string {
	c.labelsOnce.Do(func() {
		c.labelCache = make([]map[string][]string, len(c.Hardware))
		for i := range c.Hardware {
			c.labelCache[i] = c.Hardware[i].Labels()
		}
	})
	return c.labelCache
}

// most bounds amounts of hardware, against mistyped ones.
const most = 1 << 40

func checked(c *Catalogue) (*Catalogue, error) {
	if len(c.Hardware) == 0 {
		return nil, errors.New("the catalogue has no instance types; " + forms)
	}
	for i := range c.Hardware {
		h := &c.Hardware[i]
		switch {
		case h.Name == "":
			return nil, errors.New("an instance type has no name")
		case i > 0 && h.Name == c.Hardware[i-1].Name:
			return nil, fmt.Errorf("instance type %s appears twice; remove one of the two", h.Name)
		case min(h.VCPUs, h.MemoryMiB) <= 0 || max(h.VCPUs, h.MemoryMiB) > most:
			return nil, fmt.Errorf("instance type %s has %d vCPUs and %d MiB of memory: both must be above 0 and at most %d", h.Name, h.VCPUs, h.MemoryMiB, most)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Regions)) {
		if err := c.Regions[name].check(); err != nil {
			return nil, fmt.Errorf("region %q: %w", name, err)
		}
	}
	return c, nil
}

func (r *Region) check() error {
	if r == nil {
		return errors.New("null is not a region; write {}, or remove it")
	}
	for _, name := range slices.Sorted(maps.Keys(r.Sales)) {
		sale := r.Sales[name]
		lowest := sale.OnDemand
		for _, price := range sale.Spot {
			lowest = min(lowest, price)
		}
		if lowest < 0 {
			return fmt.Errorf("instance type %s has the price %d: it must not be negative", name, lowest)
		}
	}
	return nil
}
