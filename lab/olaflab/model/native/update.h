// What the event-level model knows of an update: no payload.

#pragma once

#include <cstdint>

#include "timed.h"
#include "versions.h"

namespace olaf {

// What the rules read of an update, and what leaves of it.
struct Update {
    std::uint64_t gen_time;  // nanoseconds modulo 2^48, compared as serial numbers
    std::uint32_t index;     // cluster and segment
    std::uint32_t worker;    // in rounds the member's number
    std::uint32_t seq;       // in rounds the round
    std::uint32_t reward;    // the bits of a binary32
    std::uint32_t size;      // bytes of the frame
    std::uint16_t count;
    std::uint8_t aggregated;
    std::uint32_t contributors;  // the set that the frame consists of (contributors.h), or kNoContributors
    Versions versions;

    std::uint32_t member() const { return worker; }
    void Weigh() { aggregated = 1; }
    void Merge(const Update &other, bool newer) {
        Versions merged = versions;
        merged.Merge(other.versions);
        if (newer) *this = other;
        versions = merged;
    }
};

using Queue = BasicQueue<Update>;

}  // namespace olaf
