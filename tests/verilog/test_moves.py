"""Lookups in hash ways while entries move: an entry in the table is found in every cycle."""

import random
from collections import deque

from olafswitch.p4.hardware.slots import Hashed, Row
from olafswitch.p4.verilog.compile import list_library
from olafswitch.simulation.bench import Bench
from olafswitch.simulation.verilate import build_bench

KEY, WAYS = 32, 5
LATENCY = 4


def lookups_during(moves: int, row_bits: int, entries: int) -> int:
    """Return how many entries were looked up, one a cycle, during at least ``moves`` moves.

    The table has up to ``entries`` entries in 5 × 2^``row_bits`` places. Entries come and go, and each write
    follows the last. Every lookup of an entry in the table must find it.
    """
    r = random.Random(row_bits)
    masks = [r.getrandbits(KEY) for _ in range(WAYS * row_bits)]
    hashes = sum(mask << KEY * at for at, mask in enumerate(masks))
    sizes = {"KEY": KEY, "ENTRY": KEY, "WAYS": WAYS, "ROW": row_bits}
    made = build_bench("p4_exact", list_library(), {**sizes, "HASHES": f"{KEY * len(masks)}'h{hashes:x}"})
    bench, table = Bench(made, {"clk": 4000}), Hashed(WAYS, row_bits, masks)
    asked: deque[int] = deque()
    live: list[int] = []
    moved = looked = 0

    def cycle(write: tuple[int, int] | None = None, valid: bool = True) -> None:
        nonlocal looked
        bench["write"] = write is not None
        if write is not None:
            bench["write_slot"], key = write
            bench["write_key"] = bench["write_entry"] = key
            bench["write_valid"] = valid
        if live:
            bench["key"] = key = r.choice(live)
            asked.append(key)
        bench.run_cycles(1)
        if len(asked) == LATENCY:
            wanted = asked.popleft()
            assert (bench["hit"], bench["entry"]) == (1, wanted), f"after {moved} moves {wanted} is not found"
            looked += 1

    try:
        while moved < moves:
            if len(live) >= entries:
                gone = live.pop(r.randrange(len(live)))
                for _ in range(LATENCY):
                    cycle()  # the results of earlier lookups come out
                cycle((table.remove((gone, 0, 0)), gone), valid=False)
            row: Row = (r.getrandbits(KEY), 0, 0)
            plan = table.plan(row)
            if plan is None:
                continue
            for other, place in plan:
                cycle((place, other[0]))
                table.put(other, place)
                moved += other is not row
            live.append(row[0])
    finally:
        bench.close()
    return looked


def test_no_lookup_misses_while_entries_move() -> None:
    assert lookups_during(500, row_bits=6, entries=310) > 500
