// What time alone changes in a Verilated OlafQueue, so that spans of it can pass without simulation. The
// macro INSIDE(signal), defined first, names a signal of the queue in the model's root.
#pragma once
#include <algorithm>
#include <cstdint>

namespace olaf {

template <typename Root> struct QueueTime {
    Root &root;
    uint32_t indices;

    bool still() const { return root.INSIDE(still); }

    // Cycles, at most `most`, for which nothing can happen but the passing of time.
    uint64_t quiet(uint64_t most) const {
        if (!still()) return 0;
        uint32_t rate = root.INSIDE(rate);
        if (root.INSIDE(waiting) && !(root.INSIDE(hold) & 1)) {
            if (rate == 0 || debt() <= 0) return 0;
            most = std::min<uint64_t>(most, (debt() - 1) / rate);
        }
        return std::min(most, activity_lasts(most));
    }

    // Let cycles pass of which `quiet` says that nothing happens; the model is to be evaluated then.
    void skip(uint64_t span) const {
        root.INSIDE(registers__DOT__cycle) += span;
        auto &looked_at = root.INSIDE(activity__DOT__looked_at);
        looked_at = (looked_at + span) % indices;
        root.INSIDE(activity__DOT__looked_at_sent) = root.INSIDE(activity__DOT__sent_at)[looked_at];
        if (uint32_t rate = root.INSIDE(rate); rate && debt() > 0) {
            uint64_t paying = std::min<uint64_t>(span, (debt() + rate - 1) / rate);
            root.INSIDE(rate_limiter__DOT__debt) =
                uint64_t(debt() - int64_t(paying * rate)) & ((uint64_t(1) << 37) - 1);
        }
    }

  private:
    int64_t debt() const { return int64_t(root.INSIDE(rate_limiter__DOT__debt) << 27) >> 27; }

    bool is_active(uint32_t index) const {
        return root.INSIDE(activity__DOT__sent)[index] != root.INSIDE(activity__DOT__ended)[index];
    }

    // Cycles, of `most`, before the first at whose end an index may cease to be active: olaf_activity.v looks
    // at one index a cycle, so at each of them every `indices` cycles.
    uint64_t activity_lasts(uint64_t most) const {
        if (root.INSIDE(active_clusters) == 0) return most;
        uint32_t now = root.INSIDE(registers__DOT__cycle), window = root.INSIDE(active_window);
        for (uint32_t ahead = 0; ahead < indices && ahead < most; ++ahead) {
            uint32_t index = (root.INSIDE(activity__DOT__looked_at) + ahead) % indices;
            if (!is_active(index)) continue;
            uint32_t age = now + ahead - root.INSIDE(activity__DOT__sent_at)[index];
            uint64_t looks = age > window ? 0 : (uint64_t(window) - age) / indices + 1;
            most = std::min(most, ahead + looks * indices);
        }
        return most;
    }
};

}  // namespace olaf
