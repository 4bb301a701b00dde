// Age-of-Model as frames arrive, in picoseconds: the definition of olafctl/verify/aom, one reception after
// the other.

#pragma once

#include <algorithm>
#include <cstdint>

#include "update.h"

namespace olaf {

constexpr std::int64_t kPsPerNs = 1000;

// The time in picoseconds nearest to `now` for which a frame carries `gen_time`
// (olafctl.verify.aom.nearest_time).
inline std::int64_t NearestTime(std::uint64_t gen_time, std::int64_t now) {
    const auto half = static_cast<std::int64_t>((kGenTimeMask + 1) / 2);
    const auto before = static_cast<std::uint64_t>(now / kPsPerNs - half + 1);
    const std::uint64_t after = (gen_time - before) & kGenTimeMask;
    return static_cast<std::int64_t>(before + after) * kPsPerNs;
}

// Age-of-Model of one cluster within (start, end], as olafctl.verify.aom.ages defines it.
struct Age {
    Age() = default;
    // The age of a model that was generated at 0.
    static Age OfInitial(std::int64_t start) {
        Age age;
        age.freshest = 0;
        age.since = start;
        return age;
    }

    std::int64_t freshest = kNever;
    std::int64_t since = 0;  // accounted up to here
    __int128 doubled_area = 0;
    std::int64_t observed = 0;
    __int128 peaks = 0;
    std::uint64_t peak_count = 0;
    std::int64_t highest_peak = -1;

    void Advance(std::int64_t now) {
        const std::int64_t width = now - since;
        doubled_area += static_cast<__int128>(width) * ((since - freshest) + (now - freshest));
        observed += width;
        since = now;
    }

    void Receive(std::int64_t generated, std::int64_t now, std::int64_t start) {
        if (freshest != kNever && generated <= freshest) return;
        if (now <= start) {
            since = start;
        } else if (freshest == kNever) {
            since = now;
        } else {
            // Receptions at one instant are one jump, so its first one alone is a peak.
            const bool again = since == now && jumped;
            Advance(now);
            if (!again) {
                const std::int64_t peak = now - freshest;
                peaks += peak;
                ++peak_count;
                highest_peak = std::max(highest_peak, peak);
            }
        }
        jumped = now > start;
        freshest = generated;
    }

    // The same, observed to the end of the window.
    Age Until(std::int64_t end) const {
        Age age = *this;
        if (age.freshest != kNever && age.since < end) age.Advance(end);
        return age;
    }

    bool jumped = false;  // at `since`
};

}  // namespace olaf
