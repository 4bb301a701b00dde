// The staleness rule: an index learns the newest version of its weights from the ACKs that pass, and an
// update that was computed from older ones counts for less, or not at all.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace olaf {

// What one index has learnt. Versions are serial numbers modulo 2^16.
class Newest {
  public:
    // An ACK passes with weights of this version. An older one is not believed, unless so many in a row are
    // that the server must have begun again.
    void Acknowledged(std::uint16_t version) {
        stale_updates_ = 0;
        const bool older = known_ && static_cast<std::uint16_t>(version - version_) >= kHalf;
        if (older && ++older_acks_ < kInARow) return;
        *this = Newest();
        known_ = true;
        version_ = version;
    }

    // An update was dropped as stale, or the rule let it pass. Where so many in a row are dropped, without an
    // ACK in between, no worker learns of newer weights any more: the version is forgotten, and the next
    // update passes.
    void Judged(bool stale) {
        stale_updates_ = stale ? stale_updates_ + 1 : 0;
        if (stale_updates_ == kInARow) *this = Newest();
    }

    void Forget() { *this = Newest(); }

    // How many versions ago the weights were of this one; 0 before any ACK, and for one yet to come.
    std::uint16_t Behind(std::uint16_t version) const {
        const auto behind = static_cast<std::uint16_t>(version_ - version);
        return known_ && behind < kHalf ? behind : 0;
    }

    // As the register get_newest shows it.
    std::uint32_t shown() const { return known_ ? 0x10000u | version_ : 0; }

  private:
    static constexpr std::uint16_t kHalf = 0x8000;
    static constexpr std::uint8_t kInARow = 16;

    std::uint16_t version_ = 0;
    std::uint8_t older_acks_ = 0, stale_updates_ = 0;
    bool known_ = false;
};

// k of the weight 2^-k of a staleness of 0, 1, 2 … 3, 4 … 7, … versions: by its length in bits.
struct Shifts {
    std::uint32_t low = 0, high = 0;

    std::uint32_t Of(std::uint16_t staleness) const {
        const auto length = static_cast<std::uint32_t>(std::bit_width(staleness));
        return (length < 8 ? low : high) >> 4 * (length & 7) & 15;
    }
};

// Multiplies `count` little-endian binary32 by 2^-shift. What would be subnormal, and what was, becomes zero
// of its sign; infinities and NaN stay.
inline void ScaleLanes(std::uint8_t *lanes, std::size_t count, std::uint32_t shift) {
    if (shift == 0) return;
    for (std::size_t lane = 0; lane < count; ++lane) {
        std::uint32_t bits;
        std::memcpy(&bits, lanes + 4 * lane, 4);
        const std::uint32_t exponent = bits >> 23 & 0xff;
        const std::uint32_t scaled = exponent <= shift ? bits & 0x80000000u : bits - (shift << 23);
        bits = exponent == 0xff ? bits : scaled;
        std::memcpy(lanes + 4 * lane, &bits, 4);
    }
}

}  // namespace olaf
