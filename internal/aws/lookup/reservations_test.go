package lookup

import (
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// Capacity blocks, interruptible reservations, and those for a placement that machines do not have, are not launched
// into. They are named.
func TestUnsupported(t *testing.T) {
	for want, of := range map[string]types.CapacityReservation{
		"":                              {CapacityReservationId: awssdk.String("cr-0")},
		"cr-1 is a capacity block":      {CapacityReservationId: awssdk.String("cr-1"), ReservationType: types.CapacityReservationTypeCapacityBlock},
		"cr-2 is interruptible":         {CapacityReservationId: awssdk.String("cr-2"), Interruptible: awssdk.Bool(true)},
		"cr-3 is for dedicated tenancy": {CapacityReservationId: awssdk.String("cr-3"), Tenancy: types.CapacityReservationTenancyDedicated},
		"cr-4 is for a placement group": {CapacityReservationId: awssdk.String("cr-4"), PlacementGroupArn: awssdk.String("arn:aws:ec2:eu-west-1:000000000001:placement-group/a"), Tenancy: types.CapacityReservationTenancyDefault},
	} {
		r := reservationOf(&of, time.Time{})
		if got := r.Unsupported(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
