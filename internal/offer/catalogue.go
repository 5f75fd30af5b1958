package offer

import (
	"bufio"
	"bytes"
	_ "embed" // the instance type table
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
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

// ReadCatalogue reads either a table in CSV with the columns of the embedded one
// or a catalogue saved by WriteJSON. Errors name line and column.
func ReadCatalogue(r io.Reader) (*Catalogue, error) {
	in := bufio.NewReader(r)
	const mark = "\ufeff" // which Excel and PowerShell write in front
	if start, _ := in.Peek(len(mark)); string(start) == mark {
		_, _ = in.Discard(len(mark)) // it is in the buffer
	}
	first, err := firstByte(in)
	if errors.Is(err, io.EOF) {
		return nil, errors.New("read catalogue: it is empty")
	}
	if err != nil {
		return nil, fmt.Errorf("read catalogue: %w", err)
	}
	if first != '{' {
		return readCSV(in)
	}
	var c Catalogue
	if err := json.NewDecoder(in).Decode(&c); err != nil {
		return nil, fmt.Errorf("read catalogue as JSON: %w", err)
	}
	return checked(NewCatalogue(c.Source, c.At, c.Hardware, c.Regions))
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

func firstByte(in *bufio.Reader) (byte, error) {
	for {
		b, err := in.ReadByte()
		if err != nil {
			return 0, err
		}
		if !bytes.ContainsRune([]byte(" \t\r\n"), rune(b)) {
			return b, in.UnreadByte()
		}
	}
}

func checked(c *Catalogue) (*Catalogue, error) {
	for i := range c.Hardware {
		h := &c.Hardware[i]
		switch {
		case h.Name == "":
			return nil, errors.New("read catalogue: an instance type has no name")
		case i > 0 && h.Name == c.Hardware[i-1].Name:
			return nil, fmt.Errorf("read catalogue: instance type %s is there twice", h.Name)
		case h.VCPUs <= 0 || h.MemoryMiB <= 0:
			return nil, fmt.Errorf("read catalogue: instance type %s: vCPUs and memory must be positive", h.Name)
		}
	}
	return c, nil
}
