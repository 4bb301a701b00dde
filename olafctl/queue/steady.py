"""The Verilated OlafQueue a second time, for the cycles in which it does nothing but append and send.

Then most of its control is known: no access, no command, no reset, nothing merges, nothing is dropped. The
C++ that Verilator wrote is compiled under these values too, each checked before each cycle, and the compiler
leaves out what cannot happen. No logic is written twice, and what is computed is the same.
"""

import re
from pathlib import Path

_INSIDE = "olaf_instance__DOT__queue__DOT__"
_ONE = """
aclk aresetn s_axis_tready m_axis_tready s_axis_tvalid m_axis_tvalid skid_valid skid_ready update_valid
ingress.valid ingress.taken ingress.leaves ingress.inner_update ingress.of_update bypass_in_ready
enqueue.f_valid enqueue.d_valid enqueue.was_busy
merge.i_valid busy issue write output_free
out.l_valid out.l_update out.r_valid out.r_update out.wire_update out.issue out.take
__Vcellinp__registers__inc_output_beats registers.was_input_beats registers.was_output_beats
"""
_ZERO = """
s_axil_awvalid s_axil_wvalid s_axil_arvalid s_axil_bvalid s_axil_rvalid s_axil_awready s_axil_wready
s_axil_bready s_axil_rready s_axil_bresp s_axil_rresp
clearing queue_rst __Vcellinp__skid__rst skid.full skid.waits checks.waits still
do_command pause command_set_row release_sum discard commanded learning forget
commands.state commands.gap commands.accepted
disposition ending saturated old_headers enqueue_idle
patches accumulates completes completed numbers merged_summed accumulating quota_reached
enqueue.sums enqueue.aggregated enqueue.d_accumulates enqueue.d_same_round enqueue.d_older_round
enqueue.d_counted enqueue.d_finished enqueue.was_finished enqueue.d_was_finished
enqueue.decide.iswitch enqueue.decide.iswitch_async __Vcellinp__accumulate__set
enqueue.decision enqueue.was_start
enqueue.shift enqueue.weighs enqueue.taken enqueue.late enqueue.stale_rule.entry
newest_table.doubts __Vcellinp__newest_table__refuse
enqueue.__Vcellinp__windows__take
merge.flying merge.waits merge.needs_old merge_read
ingress.state ingress.torn ingress.incomplete ingress.settled ingress.filled
enqueue.f_fault enqueue.d_fault fault faulty
waiting start_first out_list.count out_list.count_next __Vcellinp__out_list__append
bypass_in_valid bypass_issue bypass_accepted bypass_dropped bypass_valid bypass.mid_frame bypass.refusing
bypass.refuse bypass.admits bypass.refuses bypass.store dequeue.updates_turn rate_limiter.owing
activity.starts activity.ends
registers.written registers.do_clear registers.snapshot_now registers.was_bypass_accepted
registers.was_in_bypass registers.was_out_bypass registers.was_merged registers.was_replaced_worker
registers.was_replaced_reward registers.was_saturations registers.was_repaired
registers.was_input_stalls registers.was_forced
"""
_SOON = ("bypass_in_valid", "bypass_issue", "merge__DOT__flying")
_DROPPED = f"{_INSIDE}registers__DOT__was_dropped_"
_ROOT = "Volaf___024root"
_BYTES = re.compile(r"(?:CData/\*[\d:]+\*/ |VL_(?:IN|OUT)8\()(\w+)[;,]")
_STEPS = (f"{_ROOT}___eval_ico", f"{_ROOT}___eval_nba")
_BYTE = "using CData = uint8_t;"
_NEVER = f"class {_ROOT};\nbool olaf_steady({_ROOT} *) {{ return false; }}\n"


def write(verilated: Path, include: Path) -> Path:
    """Write ``olaf_steady`` of ``native/steady.h`` for what is in ``verilated``: its source file.

    It is C++20, and includes from its own folder before ``include``, which is Verilator's. Where a later
    Verilator names its parts otherwise, no cycle is a steady one.
    """
    folder = verilated / "steady"
    folder.mkdir()
    source = folder / "olaf_steady.cpp"
    parts = [path for path in sorted(verilated.glob(f"{_ROOT}__*.cpp")) if "Slow" not in path.stem]
    text = "".join(path.read_text() for path in parts)
    if not all(f"void {step}({_ROOT}* vlSelf) {{" in text for step in _STEPS):
        source.write_text(_NEVER)
        return source
    # A byte that aliases nothing: with uint8_t a store to a memory would end what is known of all bits.
    header = (include / "verilated.h").read_text().replace(_BYTE, "using CData = char8_t;")
    (folder / "verilated.h").write_text(header)
    known = _known(verilated / f"{_ROOT}.h")
    constants = sorted(verilated.glob("*ConstPool*.cpp"))
    source.write_text(
        _SOURCE.format(
            root=_ROOT,
            parts="\n".join(f'#include "../{path.name}"' for path in (*constants, *parts)),
            known="\n".join(f"        KNOWN({name}, {value})" for name, value in known.items()),
            first=next(iter(known)),
            last=next(reversed(known)),
            soon="".join(f"r.{name} || " for name in known if name.endswith(_SOON)),
            assume="\n    ".join(f"r.{name} = {value};" for name, value in known.items()),
            steps="\n    ".join(f"steady::{step}(root);" for step in _STEPS),
        )
    )
    return source


def _known(header: Path) -> dict[str, int]:
    """By its name in C++, the value of each signal that Verilator kept, as they lie in memory."""
    given = {name: value for value, names in enumerate((_ZERO, _ONE)) for name in names.split()}
    values = given | {_INSIDE + name.replace(".", "__DOT__"): value for name, value in given.items()}
    kept = [found[1] for found in _BYTES.finditer(header.read_text())]
    return {
        name: 0 if name.startswith(_DROPPED) else values[name]
        for name in kept
        if name in values or name.startswith(_DROPPED)
    }


_SOURCE = """\
#include "Volaf__pch.h"
#include "{root}.h"
#include "steady.h"
#include "verilated_stops.h"

namespace {{

using Bytes = unsigned char __attribute__((vector_size(16), aligned(1), may_alias));

struct {{
    const char *file;
    int line;
}} failed;

// What is known of the bytes from the first known signal to the last, to compare sixteen at a time.
struct Known {{
    static constexpr size_t first = offsetof({root}, {first});
    static constexpr size_t parts = (offsetof({root}, {last}) - first) / sizeof(Bytes) + 1;
    Bytes mask[parts] = {{}}, value[parts] = {{}};

    Known() {{
#define KNOWN(name, is) set(offsetof({root}, name), is);
{known}
#undef KNOWN
    }}
    void set(size_t at, unsigned char is) {{
        mask[(at - first) / sizeof(Bytes)][(at - first) % sizeof(Bytes)] = 0xff;
        value[(at - first) / sizeof(Bytes)][(at - first) % sizeof(Bytes)] = is;
    }}
    bool holds(const {root} *root) const {{
        auto *bytes = reinterpret_cast<const Bytes *>(reinterpret_cast<const char *>(root) + first);
        Bytes other = {{}};
        for (size_t part = 0; part < parts; ++part) other |= (bytes[part] ^ value[part]) & mask[part];
        uint64_t halves[2];
        std::memcpy(halves, &other, sizeof halves);
        return !(halves[0] | halves[1]);
    }}
}};

const Known known;

}}  // namespace

// A failed check is told after the cycle: a call in its middle would end what is known.
#define VL_WRITEF_NX(...) ((void)0)
#define VL_STOP_MT(at_file, at_line, ...) ((void)(failed.file = (at_file), failed.line = (at_line)))
namespace steady {{
{parts}
}}
#undef VL_STOP_MT

__attribute__((flatten)) bool olaf_steady({root} *root) {{
    auto &r = *root;
    // What tells most other cycles soonest.
    if ({soon}!known.holds(root)) return false;
    {assume}
    r.__VicoTriggered[0] = 1;
    r.__VnbaTriggered[0] = 1;
    {steps}
    r.__VnbaTriggered[0] = 0;
    if (VL_UNLIKELY(failed.file)) {{
        VL_STOP_MT(failed.file, failed.line, "");
        failed.file = nullptr;
    }}
    return true;
}}
"""
