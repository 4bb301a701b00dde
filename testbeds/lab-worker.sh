#!/bin/sh
# A lab of two machines over a real link, a worker's part, as root: a worker of the testbed behind the network
# interface NIC, in a network namespace of its own. It needs iproute2 and nothing of Olaf.
#
#   testbeds/lab-worker.sh NIC ADDRESS SERVER PROGRAM...
#
# ADDRESS is the worker's, SERVER the parameter server's; their MAC addresses are those that a testbed gives when it
# says none. When PROGRAM ends, the namespace is removed; the exit code is PROGRAM's. Start one for each worker.
set -eu
nic=${1-}
address=${2-}
server=${3:?usage: lab-worker.sh NIC ADDRESS SERVER PROGRAM...}
shift 3

mac() { printf '02:00:%02x:%02x:%02x:%02x' $(echo "$1" | tr . ' '); }
namespace=olaf-lab-$address
ended() {
    code=$?
    trap - EXIT
    # Now: with its namespace it would go later, and the next worker could not have its address until then.
    ip -n "$namespace" link delete dev eth0 2>/dev/null || true
    ip netns delete "$namespace" 2>/dev/null || true
    exit "$code"
}
# Before the traps: one that is there is another worker's.
ip netns add "$namespace" || {
    echo "is a worker of this address running, or was one killed? ip netns delete $namespace" >&2
    exit 1
}
trap ended EXIT
trap 'exit 130' INT TERM

ip link add link "$nic" name eth0 address "$(mac "$address")" netns "$namespace" type macvlan mode vepa
ip link set dev "$nic" up
ip -n "$namespace" -batch - <<COMMANDS
link set dev lo up
link set dev eth0 addrgenmode none up
address add $address/32 dev eth0
route add default dev eth0
neighbour add $server lladdr $(mac "$server") dev eth0
COMMANDS
ip netns exec "$namespace" "$@"
