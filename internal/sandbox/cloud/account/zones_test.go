package account

import "testing"

func TestZoneIDs(t *testing.T) {
	for zone, want := range map[string]string{
		"eu-west-1a": "euw1-az1", "us-east-1f": "use1-az6", "ap-southeast-2b": "apse2-az2", "ap-northeast-1c": "apne1-az3", "eu-central-1a": "euc1-az1",
	} {
		if got := ZoneID(zone); got != want {
			t.Errorf("ZoneID(%s) = %s, want %s", zone, got, want)
		}
	}
}
