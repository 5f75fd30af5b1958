package plane

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// orphanFolder names the variable that turns the test binary into a parent that
// starts a control plane in a folder and then does nothing.
const orphanFolder = "PLANE_TEST_FOLDER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(orphanFolder); dir != "" {
		os.Exit(beParent(dir))
	}
	os.Exit(m.Run())
}

func beParent(dir string) int {
	plane, err := Start(context.Background(), Config{Dir: dir})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(plane.Host)
	select {}
}

// A control plane does not outlive a process that is killed without a chance to
// stop it.
func TestComponentsDieWithTheirParent(t *testing.T) {
	parent := exec.CommandContext(t.Context(), os.Args[0])
	parent.Env = append(os.Environ(), orphanFolder+"="+t.TempDir())
	parent.Stderr = os.Stderr
	output, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	host, err := bufio.NewReader(output).ReadString('\n')
	if err != nil || !strings.HasPrefix(host, "https://") {
		t.Fatalf("the parent said %q, %v, want the API server's URL", host, err)
	}
	address := strings.TrimPrefix(strings.TrimSpace(host), "https://")
	if err := dial(address); err != nil {
		t.Fatalf("the API server does not listen: %v", err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// It was killed, which Wait reports.
	_ = parent.Wait()
	for deadline := time.Now().Add(startTimeout); dial(address) == nil; time.Sleep(pollInterval) {
		if time.Now().After(deadline) {
			t.Fatal("the API server still listens after its parent was killed")
		}
	}
}

func dial(address string) error {
	connection, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return err
	}
	return connection.Close()
}
