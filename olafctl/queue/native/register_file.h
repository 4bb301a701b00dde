// The registers of a queue in C++: those of the Verilog, with the same meaning, and the commands.

#pragma once

#include <deque>

#include "combiner.h"

namespace olaf {

class RegisterFile {
  public:
    RegisterFile(Combiner &combiner, const Combiner::Geometry &geometry)
        : combiner_(combiner), geometry_(geometry) {
        At(OLAF_REGISTER_ID) = OLAF_FIXED_ID;
        At(OLAF_REGISTER_VERSION) = OLAF_FIXED_VERSION;
        At(OLAF_REGISTER_LANES) = OLAF_FIXED_LANES;
        At(OLAF_REGISTER_CLOCK_HZ) = OLAF_FIXED_CLOCK_HZ;
        At(OLAF_REGISTER_INDICES) = static_cast<std::uint32_t>(geometry.indices);
        At(OLAF_REGISTER_SLOTS) = static_cast<std::uint32_t>(geometry.slots);
        At(OLAF_REGISTER_BEATS) = static_cast<std::uint32_t>(geometry.beats);
        At(OLAF_REGISTER_MEMBERS) = geometry.members;
        At(OLAF_REGISTER_ADDER_LATENCY) = geometry.adder_latency;
        At(OLAF_REGISTER_ACTIVE_WINDOW) = OLAF_RESET_ACTIVE_WINDOW;
        At(OLAF_REGISTER_SET_THRESHOLD) = OLAF_RESET_SET_THRESHOLD;
        At(OLAF_REGISTER_ACCUMULATE_QUOTA) =
            static_cast<std::uint32_t>(geometry.slots > 1 ? geometry.slots / 2 : 1);
    }

    std::uint32_t Read(std::uint32_t offset) const {
        offset &= kWords - 4;
        if (offset == OLAF_REGISTER_COMMAND_BUSY) return !steps_.empty();
        return shown_[offset / 4];
    }

    // Of the bytes that `mask` selects. `now` is the cycle.
    void Write(std::uint32_t offset, std::uint32_t value, std::uint32_t mask, std::int64_t now) {
        offset &= kWords - 4;
        const std::uint32_t given = value & mask;
        switch (offset) {
            case OLAF_REGISTER_CLEAR:
                if (given & 1) Clear();
                break;
            case OLAF_REGISTER_SNAPSHOT:
                if (given & 1) Snapshot(now);
                break;
            case OLAF_REGISTER_COMMAND:
                if (mask & 0xff) Request(given);
                break;
            case OLAF_REGISTER_RATE:
            case OLAF_REGISTER_HOLD:
            case OLAF_REGISTER_RANGE_FIRST:
            case OLAF_REGISTER_RANGE_LAST:
            case OLAF_REGISTER_SET_MODE:
            case OLAF_REGISTER_SET_THRESHOLD:
            case OLAF_REGISTER_SET_REWARD_ENABLE:
            case OLAF_REGISTER_SET_REWARD_THRESHOLD:
            case OLAF_REGISTER_SET_STALE_ENABLE:
            case OLAF_REGISTER_SET_STALE_BOUND:
            case OLAF_REGISTER_STALE_SHIFTS_LOW:
            case OLAF_REGISTER_STALE_SHIFTS_HIGH:
            case OLAF_REGISTER_ACTIVE_WINDOW:
            case OLAF_REGISTER_ACCUMULATE_QUOTA: Set(offset, (At(offset) & ~mask) | given, now); break;
            default: break;  // cannot be written
        }
    }

    bool hold() const { return shown_[OLAF_REGISTER_HOLD / 4] & 1; }
    bool commanded() const { return !steps_.empty(); }

    // Applies the command at work to the next index of its range.
    void Step(std::int64_t now) {
        const auto [command, index] = steps_.front();
        steps_.pop_front();
        auto &queue = combiner_.timed.queue;
        const Held *sum = queue.Accumulates(index) ? queue.Waiting(index) : nullptr;
        switch (command) {
            case OLAF_COMMAND_SET:
                if (sum && staged_.mode != queue.SettingOf(index).mode) combiner_.Discarded(sum);
                if (queue.Set(index, staged_)) combiner_.timed.Released(now, index);
                break;
            case OLAF_COMMAND_FBCAST:
                if (sum == nullptr) break;
                queue.Release(index);
                combiner_.timed.Released(now, index);
                combiner_.Count(OLAF_REGISTER_FORCED);
                break;
            case OLAF_COMMAND_RESET:
                if (sum) {
                    combiner_.Discarded(sum);
                    queue.Discard(index);
                }
                queue.Forget(index);
                break;
            default: Get(index, sum); break;
        }
    }

    // So many updates more are here, which came in elsewhere; fewer, if negative.
    void Moved(std::int64_t updates) {
        resident_ += static_cast<std::uint64_t>(updates);
        combiner_.At(OLAF_REGISTER_IN_UPDATES) += static_cast<std::uint64_t>(updates);
    }

    // Frames that pass by, for the counter of what is resident.
    std::uint64_t other_frames = 0;

  private:
    struct Pending {
        std::uint32_t command, index;
    };

    static constexpr std::uint32_t kWords = 1 << 12;

    std::uint32_t &At(std::uint32_t offset) { return shown_[offset / 4]; }

    void Set(std::uint32_t offset, std::uint32_t value, std::int64_t now) {
        At(offset) = value;
        if (offset == OLAF_REGISTER_RATE)
            combiner_.timed.SetRate(now, static_cast<std::int64_t>(value) << (kRateBits - 16));
        if (offset == OLAF_REGISTER_ACTIVE_WINDOW) combiner_.activity.SetWindow(value);
        if (offset == OLAF_REGISTER_ACCUMULATE_QUOTA) combiner_.timed.queue.SetQuota(value);
        if (offset == OLAF_REGISTER_STALE_SHIFTS_LOW || offset == OLAF_REGISTER_STALE_SHIFTS_HIGH)
            combiner_.timed.queue.SetShifts(
                {At(OLAF_REGISTER_STALE_SHIFTS_LOW), At(OLAF_REGISTER_STALE_SHIFTS_HIGH)});
    }

    std::uint64_t Resident() {
        return combiner_.At(OLAF_REGISTER_APPENDED) - combiner_.At(OLAF_REGISTER_OUT_UPDATES) -
               combiner_.At(OLAF_REGISTER_DROPPED_RESET) + resident_;
    }

    void Clear() {
        resident_ = Resident();
        combiner_.counters.fill(0);
        combiner_.At(OLAF_REGISTER_IN_UPDATES) = resident_;
        combiner_.At(OLAF_REGISTER_IN_BYPASS) = other_frames;
    }

    void Snapshot(std::int64_t now) {
        combiner_.At(OLAF_REGISTER_CYCLE) = static_cast<std::uint64_t>(now);
        for (std::size_t each = 0; each < OLAF_COUNTERS; ++each) {
            At(OLAF_COUNTERS_AT + 8 * each) = static_cast<std::uint32_t>(combiner_.counters[each]);
            At(OLAF_COUNTERS_AT + 8 * each + 4) = static_cast<std::uint32_t>(combiner_.counters[each] >> 32);
        }
        auto &timed = combiner_.timed;
        At(OLAF_REGISTER_OCCUPANCY) = static_cast<std::uint32_t>(timed.queue.occupancy());
        At(OLAF_REGISTER_ACTIVE_CLUSTERS) = static_cast<std::uint32_t>(combiner_.activity.Active(now));
        At(OLAF_REGISTER_RESIDENT_UPDATES) = static_cast<std::uint32_t>(Resident());
        At(OLAF_REGISTER_RESIDENT_BYPASS) = static_cast<std::uint32_t>(other_frames);
        At(OLAF_REGISTER_ACCUMULATING) = static_cast<std::uint32_t>(timed.queue.accumulating());
    }

    void Request(std::uint32_t command) {
        const std::uint32_t first = At(OLAF_REGISTER_RANGE_FIRST);
        const bool one = command == OLAF_COMMAND_GET;
        const std::uint32_t last = one ? first : At(OLAF_REGISTER_RANGE_LAST);
        const std::uint32_t mode = At(OLAF_REGISTER_SET_MODE), wanted = At(OLAF_REGISTER_SET_THRESHOLD);
        const bool known = command >= OLAF_COMMAND_SET && command <= OLAF_COMMAND_GET;
        const bool in_range = first < geometry_.indices && last < geometry_.indices && first <= last;
        const bool sound =
            command != OLAF_COMMAND_SET || ((mode & 0xff) < OLAF_MODES && mode >> 9 == 0 && wanted != 0 &&
                                            wanted <= 0xffff && At(OLAF_REGISTER_SET_STALE_BOUND) <= 0xffff);
        const bool accepted = steps_.empty() && known && in_range && sound;
        At(OLAF_REGISTER_COMMAND_ERROR) = !accepted;
        if (!accepted) return;
        float threshold;
        std::memcpy(&threshold, &At(OLAF_REGISTER_SET_REWARD_THRESHOLD), sizeof threshold);
        if (!one) {
            staged_ = {static_cast<olaf_mode>(mode & 0xff),
                       (At(OLAF_REGISTER_SET_REWARD_ENABLE) & 1) != 0,
                       threshold,
                       wanted,
                       (mode & kHalted) != 0,
                       (At(OLAF_REGISTER_SET_STALE_ENABLE) & 1) != 0,
                       At(OLAF_REGISTER_SET_STALE_BOUND)};
        }
        for (std::uint32_t index = first; index <= last; ++index) steps_.push_back({command, index});
    }

    void Get(std::uint32_t index, const Held *sum) {
        const auto &queue = combiner_.timed.queue;
        const auto &setting = queue.SettingOf(index);
        At(OLAF_REGISTER_GET_MODE) = setting.mode | (setting.halted ? kHalted : 0);
        At(OLAF_REGISTER_GET_THRESHOLD) = setting.wanted;
        At(OLAF_REGISTER_GET_REWARD_ENABLE) = setting.reward_rule;
        std::memcpy(&At(OLAF_REGISTER_GET_REWARD_THRESHOLD), &setting.threshold, sizeof setting.threshold);
        At(OLAF_REGISTER_GET_STALE_ENABLE) = setting.stale_rule;
        At(OLAF_REGISTER_GET_STALE_BOUND) = setting.stale_bound;
        At(OLAF_REGISTER_GET_NEWEST) = queue.NewestOf(index).shown();
        const auto progress = queue.ProgressOf(index);
        const std::uint64_t members = sum ? progress.members : 0;
        At(OLAF_REGISTER_GET_STATE) = (sum ? 1 : 0) | (progress.finished ? 2 : 0);
        At(OLAF_REGISTER_GET_ROUND) = progress.round;
        At(OLAF_REGISTER_GET_COUNT) = sum ? sum->count : 0;
        At(OLAF_REGISTER_GET_MEMBERS_LOW) = static_cast<std::uint32_t>(members);
        At(OLAF_REGISTER_GET_MEMBERS_HIGH) = static_cast<std::uint32_t>(members >> 32);
    }

    static constexpr std::uint32_t kHalted = 1 << 8;

    Combiner &combiner_;
    const Combiner::Geometry geometry_;
    std::array<std::uint32_t, kWords / 4> shown_{};
    BasicQueue<Held>::Setting staged_{};
    std::deque<Pending> steps_;
    std::uint64_t resident_ = 0;  // when the counters were cleared
};

}  // namespace olaf
