// Asynchronous aggregation (iSwitch §4): which of its members' contributions an index has taken, each once.

#pragma once

#include <cstdint>
#include <vector>

namespace olaf {

// Of each member of one index the highest number that was taken, and which of those before it were.
class Windows {
  public:
    static constexpr std::uint32_t kWidth = 16;

    enum class Contribution : std::uint8_t { kNew, kDuplicate, kLate };

    // What a contribution would be. Numbers are serial numbers modulo 2^32; a member's first may be any.
    Contribution Is(std::uint32_t number, std::uint32_t member) const {
        if (!Has(member)) return Contribution::kNew;
        const Window &window = windows_[member];
        const std::uint32_t behind = window.highest - number;
        if (behind == 0) return Contribution::kDuplicate;
        if (behind <= kWidth)
            return window.before >> (behind - 1) & 1 ? Contribution::kDuplicate : Contribution::kNew;
        return behind <= 0x80000000u ? Contribution::kLate : Contribution::kNew;
    }

    void Take(std::uint32_t number, std::uint32_t member) {
        if (windows_.size() <= member) windows_.resize(member + 1);
        Window &window = windows_[member];
        const std::uint32_t behind = window.highest - number, ahead = number - window.highest;
        if (!Has(member)) {
            window = {number, 0};
        } else if (behind <= kWidth) {
            window.before = static_cast<std::uint16_t>(window.before | 1u << (behind - 1));
        } else {
            const std::uint32_t before = ahead > kWidth ? 0 : (window.before << 1 | 1u) << (ahead - 1);
            window = {number, static_cast<std::uint16_t>(before)};
        }
        members_ |= std::uint64_t{1} << member;
    }

    void Forget() { members_ = 0; }
    // A bit for each member of which something was taken.
    std::uint64_t members() const { return members_; }

  private:
    struct Window {
        std::uint32_t highest;
        std::uint16_t before;  // bit i is of the number highest - 1 - i
    };

    bool Has(std::uint32_t member) const { return members_ >> member & 1; }

    std::uint64_t members_ = 0;  // at most 64 (hdl/olaf_accumulate.v)
    std::vector<Window> windows_;
};

}  // namespace olaf
