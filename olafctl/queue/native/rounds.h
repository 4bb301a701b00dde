// Synchronous aggregation (iSwitch §3): an index sums until H worker updates are in, then sends once.

#pragma once

#include <cstdint>

namespace olaf {

// The rounds of one index: who is in the one that accumulates, and which one was finished last.
class Rounds {
  public:
    enum class Contribution : std::uint8_t { kFirst, kAdded, kDuplicate, kLate, kSupersedes };

    bool accumulating() const { return accumulating_; }

    // What a contribution to `round` would be.
    Contribution Is(std::uint32_t round, std::uint32_t member) const {
        if (accumulating_) {
            if (round == current_) {
                return members_ >> member & 1 ? Contribution::kDuplicate : Contribution::kAdded;
            }
            return Later(round, current_) ? Contribution::kSupersedes : Contribution::kLate;
        }
        return finished_any_ && !Later(round, finished_) ? Contribution::kLate : Contribution::kFirst;
    }

    bool finished() const { return finished_any_; }
    std::uint32_t last() const { return finished_any_ ? finished_ : 0; }
    // The round that accumulates, else the one that was finished last.
    std::uint32_t round() const { return accumulating_ ? current_ : finished_; }
    // A bit for each member that is in the sum.
    std::uint64_t members() const { return members_; }

    void Begin(std::uint32_t round, std::uint32_t member) {
        accumulating_ = true;
        current_ = round;
        members_ = std::uint64_t{1} << member;
    }
    void Add(std::uint32_t member) { members_ |= std::uint64_t{1} << member; }
    void Finish() {
        accumulating_ = false;
        finished_ = current_;
        finished_any_ = true;
    }
    void Discard() { accumulating_ = false; }
    // So that the finished round can be sent again.
    void Forget() { finished_any_ = false; }

  private:
    // As serial numbers: `one` is newer than `other`.
    static bool Later(std::uint32_t one, std::uint32_t other) {
        return one != other && one - other < 0x80000000u;
    }

    std::uint64_t members_ = 0;  // at most 64 (hdl/olaf_accumulate.v)
    std::uint32_t current_ = 0, finished_ = 0;
    bool accumulating_ = false, finished_any_ = false;
};

}  // namespace olaf
