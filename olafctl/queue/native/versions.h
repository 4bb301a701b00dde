// The weights' versions that an update was computed from: the header's `weights_version`, and whether it is a
// sum.

#pragma once

#include <cstdint>

namespace olaf {

struct Versions {
    std::uint16_t
        weights_version;  // modulo 2^16, of the oldest constituent; summed, the sum of all constituents'
    bool summed;

    // Two sums are added; of two oldest versions the older counts. Where only one is a sum nothing is known
    // of the versions in it, so what is left is the other's oldest.
    void Merge(const Versions &other) {
        if (summed && other.summed) {
            weights_version = static_cast<std::uint16_t>(weights_version + other.weights_version);
        } else if (summed || (!other.summed && static_cast<std::uint16_t>(other.weights_version -
                                                                          weights_version) >= 0x8000)) {
            *this = other;
        }
    }
};

}  // namespace olaf
