package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"
)

// loopback is the only address that anything here listens on.
const loopback = "127.0.0.1"

// readHeaderTimeout bounds how long a client may take to say what it wants.
const readHeaderTimeout = 10 * time.Second

// serve answers HTTP on a loopback port (0 means a free one) until Stop, and
// returns the URL.
func (s *Sandbox) serve(port int, handler http.Handler) (url string, err error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(loopback, strconv.Itoa(port)))
	if err != nil {
		return "", fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: readHeaderTimeout}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	s.closers = append(s.closers, func() error {
		err := server.Close()
		if serveErr := <-served; !errors.Is(serveErr, http.ErrServerClosed) {
			err = errors.Join(err, serveErr)
		}
		return err
	})
	return "http://" + listener.Addr().String(), nil
}

// startControl serves what tests and people steer the sandbox by: the cloud's own
// control handler, and under /kubelets the state of every node with the reason why
// it is not up, and how late device plugins are.
func (s *Sandbox) startControl(o Options) error {
	mux := http.NewServeMux()
	mux.Handle("/", s.Cloud.ControlHandler())
	mux.HandleFunc("GET /kubelets", s.serveKubelets)
	mux.HandleFunc("POST /kubelets", s.steerKubelets)
	var err error
	if s.ControlEndpoint, err = s.serve(o.ControlPort, mux); err != nil {
		return fmt.Errorf("start control endpoint: %w", err)
	}
	return nil
}

func (s *Sandbox) serveKubelets(w http.ResponseWriter, _ *http.Request) {
	body, err := json.MarshalIndent(s.Kubelets.Nodes(), "", "  ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	// A client that has gone away needs no answer.
	_, _ = w.Write(append(body, '\n'))
}

// steerKubelets takes {"deviceDelay":"5s"}: how long after their kubelets the device plugins
// of machines that boot from now on register; negative means never.
func (s *Sandbox) steerKubelets(w http.ResponseWriter, r *http.Request) {
	var in struct {
		DeviceDelay string `json:"deviceDelay"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<10)).Decode(&in); err != nil {
		http.Error(w, "read the request: "+err.Error(), http.StatusBadRequest)
		return
	}
	delay, err := time.ParseDuration(in.DeviceDelay)
	if err != nil {
		http.Error(w, "deviceDelay: "+err.Error(), http.StatusBadRequest)
		return
	}
	s.Kubelets.SetDeviceDelay(delay)
	w.WriteHeader(http.StatusNoContent)
}
