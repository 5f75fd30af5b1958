package plane

import (
	"fmt"
	"net"
	"strconv"
)

const (
	// ServiceCIDR is the range of the cluster's Service addresses.
	ServiceCIDR = "10.100.0.0/16"
	// kubernetesServiceIP is the first address of ServiceCIDR, which the API server
	// gives to the Service default/kubernetes.
	kubernetesServiceIP = "10.100.0.1"
	// advertiseAddress is the endpoint of that Service: from TEST-NET-1, because a
	// loopback address is not valid there and nothing connects to it.
	advertiseAddress = "192.0.2.1"

	// KubeletLabel marks the Node objects whose kubelet kwok plays. It is a label
	// because kwok notices its removal, which it does not for an annotation: removing
	// it is how a simulated kubelet dies.
	KubeletLabel = "kwok.x-k8s.io/node"
	// KubeletLabelValue is the value of KubeletLabel.
	KubeletLabelValue = "fake"

	// maxInFlight is the API server's limit on concurrent requests. Clients are all
	// local, and shedding load would only hide the product's own behaviour.
	maxInFlight = 3000
	// clientRate and clientBurst lift the client-side limits of the scheduler and the
	// controllers: at their default of 50 per second, marking 5,000 pods takes
	// four times as long.
	clientRate, clientBurst = 2000, 4000
)

// disabledControllers are those that need what the sandbox does not have (a cloud
// provider's address ranges, attachable volumes, kubelet certificates).
const disabledControllers = "-node-ipam-controller,-certificatesigningrequest-signing-controller," +
	"-persistentvolume-attach-detach-controller,-persistentvolume-expander-controller," +
	"-bootstrap-signer-controller,-token-cleaner-controller"

func localURL(scheme string, port int) string {
	return scheme + "://" + net.JoinHostPort(loopback, strconv.Itoa(port))
}

func etcdFlags(s state, p ports) []string {
	client, peer := localURL("http", p.etcdClient), localURL("http", p.etcdPeer)
	return []string{
		"--name=sandbox",
		"--data-dir=" + s.path("etcd"),
		"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=sandbox=" + peer,
		// The data does not outlive the run, and slow disks are common in CI.
		"--unsafe-no-fsync=true",
		"--quota-backend-bytes=8589934592",
		"--auto-compaction-mode=periodic", "--auto-compaction-retention=5m",
		"--log-level=warn",
	}
}

func apiServerFlags(s state, p ports) []string {
	server := localURL("https", p.apiServer)
	return []string{
		"--etcd-servers=" + localURL("http", p.etcdClient),
		"--bind-address=" + loopback, fmt.Sprintf("--secure-port=%d", p.apiServer),
		"--advertise-address=" + advertiseAddress, "--endpoint-reconciler-type=lease",
		"--service-cluster-ip-range=" + ServiceCIDR,
		"--client-ca-file=" + s.path("ca.crt"),
		"--tls-cert-file=" + s.path("kube-apiserver.crt"), "--tls-private-key-file=" + s.path("kube-apiserver.key"),
		"--requestheader-client-ca-file=" + s.path("ca.crt"), "--requestheader-allowed-names=front-proxy",
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + s.path("front-proxy.crt"), "--proxy-client-key-file=" + s.path("front-proxy.key"),
		"--service-account-issuer=" + server, "--service-account-jwks-uri=" + server + "/openid/v1/jwks",
		"--service-account-key-file=" + s.path("service-account.pub"),
		"--service-account-signing-key-file=" + s.path("service-account.key"),
		"--authentication-token-webhook-config-file=" + s.kubeconfig("token-webhook"),
		"--authentication-token-webhook-version=v1", "--authentication-token-webhook-cache-ttl=5s",
		"--authorization-mode=Node,RBAC",
		// The latter refuses owner references that block an owner's deletion to
		// whoever may not set the owner's finalizers, as OpenShift does.
		"--enable-admission-plugins=NodeRestriction,OwnerReferencesPermissionEnforcement",
		"--allow-privileged=true",
		fmt.Sprintf("--max-requests-inflight=%d", maxInFlight), fmt.Sprintf("--max-mutating-requests-inflight=%d", maxInFlight),
		// At the default of 100, clients with more requests in flight open further
		// connections, and on a busy machine the TLS handshakes starve everything else.
		"--http2-max-streams-per-connection=4000",
		"--delete-collection-workers=8",
		"--profiling=false",
	}
}

func schedulerFlags(s state, p ports) []string {
	return controllerFlags(s.kubeconfig(clientScheduler), p.scheduler)
}

func controllerManagerFlags(s state, p ports) []string {
	return append(controllerFlags(s.kubeconfig(clientControllerManager), p.controllerManager),
		"--controllers=*,"+disabledControllers,
		"--root-ca-file="+s.path("ca.crt"),
		"--service-account-private-key-file="+s.path("service-account.key"),
		// The controller manager's own user may not do the controllers' work.
		"--use-service-account-credentials=true",
		// The default is a folder of the host, which it would create.
		"--flex-volume-plugin-dir="+s.path("flexvolume"),
		"--node-monitor-period=2s",
		// Four renewals of a lease may be lost.
		"--node-monitor-grace-period=40s",
	)
}

// controllerFlags are common to the components that watch the API server.
func controllerFlags(kubeconfig string, port int) []string {
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=" + loopback, fmt.Sprintf("--secure-port=%d", port),
		"--leader-elect=false",
		fmt.Sprintf("--kube-api-qps=%d", clientRate), fmt.Sprintf("--kube-api-burst=%d", clientBurst),
	}
}

func kwokFlags(s state) []string {
	return []string{
		"--kubeconfig=" + s.kubeconfig(clientKwok),
		"--config=" + s.path("kwok.yaml"),
		"--manage-nodes-with-label-selector=" + KubeletLabel + "=" + KubeletLabelValue,
		// The simulated kubelets renew their leases themselves.
		"--node-lease-duration-seconds=0",
		"--cidr=10.200.0.0/16", "--node-ip=" + loopback,
		// Either of these would listen on all addresses.
		"--node-port=0", "--server-address=",
		// At INFO it logs megabytes a minute.
		"--v=WARN",
	}
}
