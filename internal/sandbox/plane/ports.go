package plane

import (
	"errors"
	"fmt"
	"net"
)

// loopback is the only address that anything here listens on.
const loopback = "127.0.0.1"

// errPortTaken says that a component found its port in use: between the choice of
// a free port and the component's own bind there is a gap that another process can
// slip into.
var errPortTaken = errors.New("port already in use")

// ports holds the TCP ports of one control plane.
type ports struct {
	apiServer, etcdClient, etcdPeer, scheduler, controllerManager int
}

// choosePorts finds free ports for what is not fixed. All of them are held until
// the last one is found, so that they differ.
func choosePorts(fixedAPIServer int) (ports, error) {
	chosen := ports{apiServer: fixedAPIServer}
	var held []net.Listener
	defer func() {
		for _, listener := range held {
			listener.Close()
		}
	}()
	for _, port := range []*int{&chosen.apiServer, &chosen.etcdClient, &chosen.etcdPeer, &chosen.scheduler, &chosen.controllerManager} {
		if *port != 0 {
			continue
		}
		listener, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
		if err != nil {
			return ports{}, fmt.Errorf("find a free port: %w", err)
		}
		held = append(held, listener)
		*port = listener.Addr().(*net.TCPAddr).Port
	}
	return chosen, nil
}
