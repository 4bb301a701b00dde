#!/bin/sh
# Packet tests in CI: deploy, test with a JUnit report, destroy; on the twin, and on BMv2 where it is installed.
#
#   testbeds/ci.sh TESTBED REPORTS [options of olafctl test]
#
# TESTBED is a YAML file or the name of a shipped one, REPORTS a folder for twin.xml and bmv2.xml. Ends with the first
# exit code that is not 0: 1 when a test failed, 2 for a wrong testbed, 3 for a missing tool, 130 when interrupted.
set -u
testbed=${1-}
reports=${2:?usage: ci.sh TESTBED REPORTS}
shift 2

work=$(mktemp -d)
export OLAF_STATE="$work/state"   # jobs on one machine do not meet
code=0
ends() { [ "$code" -ne 0 ] || code=$1; }   # keeps the first that is not 0
cleaned() { olafctl destroy --all; ends $?; rm -rf "$work"; exit "$code"; }
trap 'ends 130; cleaned' INT TERM
mkdir -p "$reports"

for target in twin bmv2; do
    if [ "$target" = bmv2 ] && ! { command -v simple_switch_grpc && command -v p4c-bm2-ss; } >/dev/null; then
        echo "bmv2: skipped, simple_switch_grpc and p4c-bm2-ss are not both installed"
        continue
    fi
    if olafctl deploy --target "$target" "$testbed"; then
        olafctl test --junit "$reports/$target.xml" "$@"
        ends $?
    else
        ends $?
        olafctl logs 2>/dev/null # a first deploy that failed has taken them away
    fi
    olafctl destroy --all
    ends $?
done
cleaned
