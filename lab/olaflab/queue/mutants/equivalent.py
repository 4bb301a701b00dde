"""Mutants that no traffic can distinguish from the queue, each with the argument why."""

_NEWEST_ONLY = (
    "only the slot of an index' newest update is ever read, and that one is written in the same cycle as "
    "before; the entry that is written too many holds an older update, which nothing looks up"
)
_SIZES_OF_FOUR = (
    "sizes of updates are multiples of 4, so size - 1 and size - 2 lie in the same beat of 64 bytes"
)
_LAST_FOUR = (
    "the arriving update's buffer is always among the last four that were opened, so the default is not used"
)
_FREE_AT_RESET = (
    "in reset and in the cycle after it nothing leaves: no update waits, arrives or is leaving and the "
    "bypass is empty, all by their own resets; after that `free` follows `under_way`, which is reset too"
)
_WAITS_AT_RESET = (
    "at the end of reset no beat is in the enqueue, at issue or in the adders, so the next `waits` is 0; "
    "ingress is empty in reset too, so that an update comes to the enqueue a cycle later at the earliest"
)
_BEFORE_RESET = (
    "every run begins with a reset, which sets `clearing`; its value at power-up counts only on a device "
    "that is never reset"
)
_SAME_MAGNITUDE = (
    "two operands of the same magnitude are the same exponent and fraction, whichever of them counts as the "
    "larger; signs are not part of what is put in order here"
)
_ZERO = "it is 0 as it stands"
_SHIFTED_OUT = "what is before the window is shifted further left, and only the window's bits are used"

ARGUMENTS: dict[str, str] = {
    **{
        f"olaf_index_table.v: connective: if: append || changed_tail == 2'd{tail}": _NEWEST_ONLY
        for tail in range(3)
    },
    "olaf_queue.v: constant: clearing: 1'd0": _BEFORE_RESET,
    **{
        f"olaf_dequeue.v: constant: {which}_less_one: {which}_meta[`OLAF_META_SIZE] - 16'd2": _SIZES_OF_FOUR
        for which in ("first", "arriving")
    },
    "olaf_output.v: constant: free: 1'd1": _FREE_AT_RESET,
    "olaf_merge.v: constant: waits: 1'd1": _WAITS_AT_RESET,
    "olaf_filled.v: constant: of_arriving: {COUNT_BITS{1'd0}}": _LAST_FOUR,
    "olaf_filled.v: stuck: of_arriving: '0": _LAST_FOUR,
    "olaf_windows.v: constant: shifted: {{(WIDTH + PLACE_BITS){1'd1}}, earlier, 1'b1} << distance": (
        _SHIFTED_OUT
    ),
    "olaf_settings.v: stuck: after_reset[`OLAF_SETTINGS_STALE_BOUND]: '0": _ZERO,
    "olaf_fp32_add.v: boundary: swap: left <= right": _SAME_MAGNITUDE,
}
