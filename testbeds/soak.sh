#!/bin/sh
# A soak run, as root: all workers of TESTBED train for SECONDS, round after round; after each round everything must
# run and be as it was deployed, and at the end no update may be unaccounted for.
#
#   testbeds/soak.sh TESTBED SECONDS [options of olafctl test]
#
# Ends with 0 when all was well, else with the code of what was not. The engine's memory is printed with each round:
# it must not grow.
set -eu
testbed=${1-}
seconds=${2:?usage: soak.sh TESTBED SECONDS}
shift 2

samples=$(dirname "$0")/samples
report=$(mktemp)
ended() {
    code=$?
    trap - EXIT
    rm -f "$report"
    olafctl destroy --deployment "$testbed"
    exit "$code"
}
trap ended EXIT
trap 'exit 130' INT TERM

olafctl deploy --hosts "$testbed"
# A line for each worker: its name and UDP port, the server's name and address.
workers=$(olafctl status --json --deployment "$testbed" | python3 -c '
import json, sys
report = json.load(sys.stdin)
server = report["parameter_servers"][0]
for worker in (each for cluster in report["clusters"] for each in cluster["workers"]):
    print(worker["name"], worker["udp_port"], server["name"], server["ip"])')
server=$(echo "$workers" | cut -d " " -f 3 | head -n 1)
olafctl exec --deployment "$testbed" "$server" -- python3 "$samples/parameter_server.py" >/dev/null &

end=$(($(date +%s) + seconds))
round=0
while [ "$round" -eq 0 ] || [ "$(date +%s)" -lt "$end" ]; do
    round=$((round + 1))
    running=
    while read -r name port _ address; do
        olafctl exec --deployment "$testbed" "$name" -- python3 "$samples/worker.py" "$address" "$port" 500 </dev/null &
        running="$running $!"
    done <<WORKERS
$workers
WORKERS
    for worker in $running; do wait "$worker"; done
    olafctl status --json --deployment "$testbed" >"$report" # ends with 1 when something died or differs
    memory=$(python3 -c '
import json, sys
for process in json.load(open(sys.argv[1]))["processes"]:
    if "olafctl.targets" in process["command"]:
        pages = open("/proc/{}/statm".format(process["pid"])).read().split()[1]
        print(int(pages) * 4, "kB", end=" ")' "$report")
    echo "round $round: all workers trained; memory of the engine: $memory"
done
olafctl test --deployment "$testbed" "$@"
