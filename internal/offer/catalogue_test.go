package offer

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

func TestEmbeddedCatalogueIsComplete(t *testing.T) {
	c := Embedded()
	if got, want := len(c.Hardware), 1392; got != want {
		t.Errorf("instance types = %d, want %d", got, want)
	}
	for _, region := range []string{"us-east-1", "us-west-2", "eu-west-1"} {
		r, err := c.Region(region)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Sales) < 1000 {
			t.Errorf("%s sells %d types, want more than a thousand", region, len(r.Sales))
		}
		for name, sale := range r.Sales {
			for zone, spot := range sale.Spot {
				if spot <= 0 || spot > sale.OnDemand {
					t.Errorf("%s %s: spot price %d, on demand %d", name, zone, spot, sale.OnDemand)
				}
			}
		}
	}
}

func TestEmbeddedCatalogueHardware(t *testing.T) {
	tests := map[string]Hardware{
		"m5.large": {
			Name: "m5.large", Family: "m5", Category: "m", Generation: 5, Size: "large",
			VCPUs: 2, MemoryMiB: 8192, Arch: "amd64", CPUManufacturer: "intel", Hypervisor: "nitro",
			NetworkMbps: 750, EBSMbps: 4750, ENIs: 3, DefaultCardENIs: 3, IPv4PerENI: 10, BranchInterfaces: 9,
			CapacityTypes: []string{api.CapacityOnDemand, api.CapacitySpot},
		},
		"p4d.24xlarge": {
			Name: "p4d.24xlarge", Family: "p4d", Category: "p", Generation: 4, Size: "24xlarge",
			VCPUs: 96, MemoryMiB: 1179648, Arch: "amd64", CPUManufacturer: "intel", Hypervisor: "nitro",
			GPU:         &Accelerator{Name: "A100", Manufacturer: "NVIDIA", Count: 8, MemoryMiB: 40960},
			LocalNVMeGB: 8000, NetworkMbps: 400000, EBSMbps: 19000, EncryptionInTransit: true,
			ENIs: 60, DefaultCardENIs: 15, IPv4PerENI: 50, BranchInterfaces: 62, EFAs: 4,
			CapacityTypes: []string{api.CapacityOnDemand, api.CapacitySpot},
		},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := Embedded().Find(name)
			if !ok {
				t.Fatal("not found")
			}
			if diff := cmp.Diff(want, *got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
	if _, ok := Embedded().Find("m5.imaginary"); ok {
		t.Error("found an instance type that does not exist")
	}
}

func TestEmbeddedCataloguePrices(t *testing.T) {
	r, err := Embedded().Region("us-west-2")
	if err != nil {
		t.Fatal(err)
	}
	want := Sale{
		Zones:    []string{"us-west-2a", "us-west-2c"},
		OnDemand: 25_500,
		Spot:     map[string]Price{"us-west-2a": 25_500, "us-west-2c": 25_500}, // savings of 0 %
	}
	if diff := cmp.Diff(want, r.Sales["a1.medium"]); diff != "" {
		t.Errorf("a1.medium: -want +got\n%s", diff)
	}
	if got, want := r.Sales["t3.large"].Spot["us-west-2a"], Price(31_616); got != want { // 0.0832 less 62 %
		t.Errorf("spot price of t3.large = %d, want %d", got, want)
	}
	if !r.Sales["g6f.large"].Estimate {
		t.Error("the price of g6f.large is not marked as an estimate")
	}
}

func TestUnknownRegionListsTheKnownOnes(t *testing.T) {
	_, err := Embedded().Region("mars-north-1")
	if err == nil || !strings.Contains(err.Error(), `"mars-north-1", only for eu-west-1, us-east-1, us-west-2; save those`) {
		t.Errorf("error = %v", err)
	}
	if got := Embedded().Types(Settings{Region: "mars-north-1"}); got != nil {
		t.Errorf("types of an unknown region = %d", len(got))
	}
}

func TestReadCatalogueErrors(t *testing.T) {
	const header = "name,vcpus,memory_mib,arch,bare_metal,usd_us_east_1,zones_us_east_1,spot_savings_pct_us_east_1\n"
	tests := map[string]struct{ in, want string }{
		"empty":             {"", "the catalogue is empty; save one with"},
		"only blank":        {" \n\t", "the catalogue is empty"},
		"missing column":    {"name,vcpus,arch\n", `line 1: there is no column "memory_mib"`},
		"bad number":        {header + "m5.large,two,8192,x86_64,,,,\n", `line 2, column vcpus: "two" is not a whole number`},
		"negative":          {header + "m5.large,2,-1,x86_64,,,,\n", `line 2, column memory_mib: "-1" is not a whole number`},
		"zero":              {header + "m5.large,0,1,x86_64,,,,\n", `line 2, column vcpus: "0" is not a positive`},
		"bad bool":          {header + "a.b,1,1,x86_64,,,,\nm5.large,2,1,x86_64,perhaps,,,\n", `line 3, column bare_metal: "perhaps" is not true or false`},
		"bad price":         {header + "m5.large,2,1,x86_64,,free,a,\n", `line 2, column usd_us_east_1: "free" is not a price`},
		"bad savings":       {header + "m5.large,2,1,x86_64,,1,a,101\n", `line 2, column spot_savings_pct_us_east_1: "101" is not a percentage`},
		"no name":           {header + ",2,1,x86_64,,,,\n", `line 2, column name`},
		"no arch":           {header + "m5.large,2,1,,,,,\n", `line 2, column arch`},
		"fields missing":    {header + "m5.large,2\n", "record on line 2: wrong number of fields"},
		"twice":             {header + "a.b,1,1,x86_64,,,,\na.b,1,1,x86_64,,,,\n", "instance type a.b appears twice"},
		"broken JSON":       {`{"hardware": 7}`, "hardware: 7 is a number, and must be a list"},
		"more than one":     {`{"hardware": [{"name": "a.b", "vcpus": 1, "memoryMiB": 1}]} {"hardware": []}`, `"{\"hardware\": []}" follows the catalogue, which is one JSON object; remove it`},
		"JSON cut off":      {`{"hardware": [{"name": "a.b"`, "the file may be cut off: save it again"},
		"an unknown field":  {`{"hardwares": []}`, "hardwares: unknown field, ignored; did you mean hardware"},
		"no types":          {`{"regions": {}}`, "the catalogue has no instance types"},
		"a region of null":  {`{"hardware": [{"name": "a.b", "vcpus": 1, "memoryMiB": 1}], "regions": {"r": null}}`, `region "r": null is not a region`},
		"negative price":    {`{"hardware": [{"name": "a.b", "vcpus": 1, "memoryMiB": 1}], "regions": {"r": {"sales": {"a.b": {"spot": {"ra": -5}}}}}}`, `region "r": instance type a.b has the price -5`},
		"huge in JSON":      {`{"hardware": [{"name": "a.b", "vcpus": 9000000000000000000, "memoryMiB": 1}]}`, "at most 1099511627776"},
		"huge":              {header + "a.b,9000000000000000000,1,x86_64,,,,\n", `column vcpus: "9000000000000000000" is not a whole number`},
		"a column twice":    {"name,vcpus,arch,vcpus\n", `line 1: column 4 has the name "vcpus", as column 2 has`},
		"blank lines":       {"\n\n" + header + "a.b,x,1,x86_64,,,,\n", "line 4, column vcpus"},
		"bad arch":          {header + "a.b,1,1,aarch64,,,,\n", `line 2, column arch: "aarch64" is not an architecture: they are amd64, arm64`},
		"bad zones":         {header + "a.b,1,1,x86_64,,1,\"a,b\",\n", `column zones_us_east_1: "a,b" is not the letters of the zones, such as abc`},
		"JSON without size": {`{"hardware": [{"name": "a.b"}]}`, "instance type a.b has 0 vCPUs and 0 MiB of memory: both must be above 0"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := ReadCatalogue(strings.NewReader(tt.in))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestReadCatalogueOfFewColumns(t *testing.T) {
	c, err := ReadCatalogue(strings.NewReader(
		"name,vcpus,memory_mib,arch,usd_eu_west_9,zones_eu_west_9,spot_savings_pct_us_east_1\nm9g.large,2,8192,arm64,0.1,ba,60\nmac2.metal,8,16384,arm64_mac,1,a,\n"))
	if err != nil {
		t.Fatal(err)
	}
	types := c.Types(Settings{Region: "eu-west-9", NodeOptions: NodeOptions{IgnoreENIs: true}})
	if len(types) != 1 {
		t.Fatalf("types = %d, want 1: macOS machines are not nodes", len(types))
	}
	want := []Offering{
		{Zone: "eu-west-9a", CapacityType: "on-demand", Price: 100_000},
		{Zone: "eu-west-9a", CapacityType: "spot", Price: 40_000},
		{Zone: "eu-west-9b", CapacityType: "on-demand", Price: 100_000},
		{Zone: "eu-west-9b", CapacityType: "spot", Price: 40_000},
	}
	if diff := cmp.Diff(want, types[0].Offerings); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestByteOrderMark: a catalogue that Excel or PowerShell has saved begins with one.
func TestByteOrderMark(t *testing.T) {
	for _, text := range []string{
		"name,family,category,generation,size,vcpus,memory_mib,arch,usd_us_east_1,zones_us_east_1\r\nm5.large,m5,m,5,large,2,8192,x86_64,0.096,ab\r\n",
		`{"source": "mine", "hardware": [{"name": "m5.large", "vcpus": 2, "memoryMiB": 8192}]}`,
	} {
		c, err := ReadCatalogue(strings.NewReader("\ufeff" + text))
		if err != nil || len(c.Hardware) != 1 || c.Hardware[0].Name != "m5.large" {
			t.Errorf("got %+v, %v", c, err)
		}
	}
}

func TestCatalogueSurvivesJSON(t *testing.T) {
	saved := NewCatalogue("EC2", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Embedded().Hardware, Embedded().Regions)
	var buf bytes.Buffer
	if err := saved.WriteJSON(&buf); err != nil {
		t.Fatal(err)
	}
	got, err := ReadCatalogue(&buf)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(saved, got, cmpopts.IgnoreUnexported(Catalogue{})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestEmbeddedCSVIsACopy(t *testing.T) {
	EmbeddedCSV()[0] = 'X'
	if EmbeddedCSV()[0] == 'X' {
		t.Error("a caller changed the embedded table")
	}
}

func TestSplitName(t *testing.T) {
	tests := map[string]struct {
		family, category string
		generation       int64
		size             string
	}{
		"m5.large":           {"m5", "m", 5, "large"},
		"m6idn.32xlarge":     {"m6idn", "m", 6, "32xlarge"},
		"c7i-flex.xlarge":    {"c7i-flex", "c", 7, "xlarge"},
		"inf2.24xlarge":      {"inf2", "inf", 2, "24xlarge"},
		"u-6tb1.56xlarge":    {"u-6tb1", "u", 1, "56xlarge"},
		"u7i-12tb.224xlarge": {"u7i-12tb", "u", 7, "224xlarge"},
		"is4gen.medium":      {"is4gen", "is", 4, "medium"},
		"m7g.metal-24xl":     {"m7g", "m", 7, "metal-24xl"},
		"std":                {"std", "std", 0, ""},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			family, category, generation, size := SplitName(name)
			if family != want.family || category != want.category || generation != want.generation || size != want.size {
				t.Errorf("got %q %q %d %q, want %q %q %d %q", family, category, generation, size, want.family, want.category, want.generation, want.size)
			}
		})
	}
}

// The embedded table has the parts of the names in columns of their own.
func TestSplitNameAgreesWithTheTable(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(string(EmbeddedCSV())), "\n")
	for _, line := range lines[1:] {
		f := strings.Split(line, ",")
		family, category, generation, size := SplitName(f[0])
		if family != f[1] || category != f[2] || strconv.FormatInt(generation, 10) != f[3] || size != f[4] {
			t.Errorf("%s: got %q %q %d %q, the table says %v", f[0], family, category, generation, size, f[1:5])
		}
	}
}

func TestParsePrice(t *testing.T) {
	tests := map[string]struct {
		want Price
		ok   bool
	}{
		"0.0255":           {25_500, true},
		"21.957642":        {21_957_642, true},
		"0.0000004":        {0, true},
		"12.0000000000":    {12_000_000, true},
		"-1":               {0, false},
		"NaN":              {0, false},
		"":                 {0, false},
		"1e300":            {0, false},
		"0.1 USD per hour": {0, false},
	}
	for in, tt := range tests {
		t.Run(in, func(t *testing.T) {
			got, err := ParsePrice(in)
			if (err == nil) != tt.ok || got != tt.want {
				t.Errorf("got %d, %v", got, err)
			}
		})
	}
}
