# Programs as the hosts of a testbed, from a checkout.
cd "$ROOT"
#: docs/testbeds.md: olafctl deploy --hosts laptop
kill %1
