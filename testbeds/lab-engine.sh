#!/bin/sh
# A lab of two machines over a real link, the engine's part, as root: front port PORT of TESTBED becomes the network
# interface NIC, and every host that is not behind it lives here, in a network namespace of its own.
#
#   testbeds/lab-engine.sh TESTBED PORT NIC PROGRAM...     PROGRAM runs as the parameter server
#
# The workers' part is lab-worker.sh. When PROGRAM ends, or with Ctrl-C, all is removed and NIC is as it was, and the
# exit code is PROGRAM's. Frames longer than NIC's MTU do not pass: 1500 is enough for updates of 364 values.
set -eu
testbed=${1-}
port=${2-}
nic=${3:?usage: lab-engine.sh TESTBED PORT NIC PROGRAM...}
shift 3

bridge=olafl$$
ended() {
    code=$?
    trap - EXIT
    ip link set dev "$nic" nomaster || true
    ip link delete dev "$bridge" 2>/dev/null || true
    olafctl destroy --deployment "$testbed"
    exit "$code"
}
trap ended EXIT
trap 'exit 130' INT TERM

olafctl deploy "$testbed"
# One line: the namespace and the interface of the port's host side, and the parameter server's name.
found=$(olafctl status --json --deployment "$testbed" | python3 -c '
import json, sys
report = json.load(sys.stdin)
side = next((port for port in report["ports"] if port["name"] == sys.argv[1]), None)
if side is None or side["namespace"] is None:
    sys.exit(f"{sys.argv[1]} is no port with an interface: lab-engine.sh TESTBED PORT NIC PROGRAM...")
print(side["namespace"], side["path"], report["parameter_servers"][0]["name"])' "$port")
read -r namespace side server <<FOUND
$found
FOUND
# The host side goes out of the deployment's namespace and into a bridge with the NIC.
ip -n "$namespace" link set dev "$side" netns $$ name "$bridge-p"
ip link add name "$bridge" type bridge
for interface in "$bridge-p" "$nic"; do
    ip link set dev "$interface" master "$bridge"
    ip link set dev "$interface" up
done
ip link set dev "$bridge" addrgenmode none up
olafctl deploy --hosts "$testbed"
# In the background, so that a signal is heard at once; destroy ends it.
olafctl exec --deployment "$testbed" "$server" -- "$@" &
wait $!
