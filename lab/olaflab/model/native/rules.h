// The decisions of one OlafQueue (OLAF's Algorithm 1, the reward rule of OLAF §3, the head lock of
// OLAF §12.1; iSwitch's rounds), without any notion of time: updates are offered whole, the head begins to
// leave, its slot becomes free.

#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "modes.h"
#include "rounds.h"

namespace olaf {

constexpr std::uint32_t kCountLimit = 65535;
constexpr std::uint64_t kGenTimeMask = (std::uint64_t{1} << 48) - 1;

// In the order of DISPOSITIONS in library.py.
enum class Disposition : std::uint8_t {
    kAppended,
    kMerged,
    kReplacedWorker,
    kReplacedReward,
    kDroppedFull,
    kDroppedReward,
    kDroppedMismatch,
    kDroppedMember,
    kDroppedDuplicate,
    kDroppedLate,
    kDroppedSuperseded,
    kDroppedQuota,
    kCount,
};

// What the rules read of an update, and what leaves of it. The layout is that of UPDATE in library.py.
struct Update {
    std::uint64_t gen_time;  // nanoseconds modulo 2^48, compared as serial numbers
    std::uint32_t index;     // cluster and segment
    std::uint32_t worker;    // in rounds the member's number
    std::uint32_t seq;       // in rounds the round
    std::uint32_t reward;    // the bits of a binary32
    std::uint32_t size;      // bytes of the frame
    std::uint16_t count;
    std::uint8_t aggregated;
    std::uint8_t summed;         // policy is the sum of all constituents' versions
    std::uint32_t contributors;  // the set that the frame consists of (contributors.h), or kNoContributors
    std::uint16_t policy;        // version of the oldest constituent's weights, modulo 2^16
};

// Whether generation time `one` is newer than `other` or the same.
inline bool AtLeastAsNew(std::uint64_t one, std::uint64_t other) {
    return ((one - other) & kGenTimeMask) < (kGenTimeMask + 1) / 2;
}

// What a merged frame says of its constituents' versions: two sums are added, of two oldest versions the older
// counts; where only one is a sum nothing is known of the versions in it.
inline std::uint16_t MergedPolicy(const Update &one, const Update &other) {
    if (one.summed && other.summed) return static_cast<std::uint16_t>(one.policy + other.policy);
    if (one.summed != other.summed) return one.summed ? other.policy : one.policy;
    return static_cast<std::uint16_t>(one.policy - other.policy) < 0x8000 ? other.policy : one.policy;
}

// A reward in the order that the rules use: NaN is below every number.
struct Rank {
    bool number;
    float value;
    static Rank Of(float value) { return {!std::isnan(value), std::isnan(value) ? 0.0f : value}; }
    friend bool operator<(const Rank &one, const Rank &other) {
        return one.number != other.number ? other.number : one.value < other.value;
    }
};

// A reward and the bounds outside which another is not comparable with it.
struct Reward {
    std::uint32_t bits;
    Rank rank, below, above;
    static Reward Of(std::uint32_t bits, float threshold) {
        float value;
        std::memcpy(&value, &bits, sizeof value);
        return {bits, Rank::Of(value), Rank::Of(value - threshold), Rank::Of(value + threshold)};
    }
};

class Queue {
  public:
    struct Setting {
        olaf_mode mode = OLAF_MODE_OLAF;
        bool reward_rule = false;
        float threshold = 0.0f;
        std::uint32_t wanted = 1;  // worker updates that make a round's result
    };

    // At most `quota` slots hold sums of rounds that are not complete.
    Queue(std::size_t slots, std::size_t indices, std::size_t quota)
        : line_(slots), waiting_(indices, kNone), settings_(indices), quota_(quota) {}

    void Set(std::uint32_t index, const Setting &setting) {
        settings_.at(index) = setting;
        if (setting.mode == OLAF_MODE_ISWITCH && rounds_.empty()) rounds_.resize(settings_.size());
        if (rounds_.empty() || !rounds_[index].rounds.accumulating()) return;
        if (setting.mode != OLAF_MODE_ISWITCH) {
            Discard(index);
        } else {
            ReleaseComplete(&rounds_[index], setting);
        }
    }

    std::size_t occupancy() const { return held_ + accumulating_; }

    // Whether an update is in line that has not begun to leave.
    bool ready() const { return held_ > (leaving_ ? 1u : 0u); }

    // Whether the last update that was offered completed a round: its sum is now in line.
    bool released() const { return released_; }

    bool Sums(std::uint32_t index) const { return settings_[index].mode == OLAF_MODE_ISWITCH; }

    // The update that one of `index` would be combined with, or nullptr.
    const Update *Waiting(std::uint32_t index) const {
        if (Sums(index)) {
            return rounds_[index].rounds.accumulating() ? &rounds_[index].sum.update : nullptr;
        }
        return waiting_[index] == kNone ? nullptr : &line_[waiting_[index]].update;
    }

    // An update arrives; `closing` slots become free at this very instant, too late for it. `displaced` is
    // how many worker updates are discarded by a replacement or by a newer round, or no longer counted by a
    // merged frame whose count is at its limit.
    Disposition Offer(const Update &update, std::size_t closing, std::uint32_t *displaced) {
        *displaced = 0;
        released_ = false;
        const Setting &setting = settings_.at(update.index);
        if (setting.mode == OLAF_MODE_ISWITCH) return Contribute(update, setting, closing, displaced);
        const Reward reward = Reward::Of(update.reward, setting.threshold);
        const bool fifo = setting.mode == OLAF_MODE_FIFO;
        if (fifo || waiting_[update.index] == kNone) {
            if (occupancy() + closing >= line_.size()) return Disposition::kDroppedFull;
            const std::size_t place = Append({update, reward, update.aggregated == 0});
            if (!fifo) waiting_[update.index] = place;
            return Disposition::kAppended;
        }
        Entry &waiting = line_[waiting_[update.index]];
        if (update.size != waiting.update.size) return Disposition::kDroppedMismatch;
        if (waiting.replaceable && waiting.update.worker == update.worker && !update.aggregated) {
            return Replace(&waiting, update, reward, displaced, Disposition::kReplacedWorker);
        }
        if (setting.reward_rule && waiting.reward.above < reward.rank) {
            return Replace(&waiting, update, reward, displaced, Disposition::kReplacedReward);
        }
        if (setting.reward_rule && reward.rank < waiting.reward.below) return Disposition::kDroppedReward;
        *displaced = Merge(&waiting, update, reward);
        return Disposition::kMerged;
    }

    // Discards the sum of an index that accumulates.
    void Discard(std::uint32_t index) {
        rounds_[index].rounds.Discard();
        --accumulating_;
    }

    // Lets an index sum its finished round again.
    void Forget(std::uint32_t index) { rounds_[index].rounds.Forget(); }

    // The head begins to leave: from now on it can be neither replaced nor merged with. Call when ready().
    const Update &Begin() {
        if (leaving_ || held_ == 0) throw std::logic_error("no update can begin to leave");
        leaving_ = true;
        const Update &update = line_[first_].update;
        if (waiting_[update.index] == first_) waiting_[update.index] = kNone;
        return update;
    }

    // The last beat of the head was read: its slot is free.
    void Leave() {
        if (!leaving_) throw std::logic_error("no update is leaving");
        leaving_ = false;
        first_ = Wrap(first_ + 1);
        --held_;
    }

  private:
    static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

    struct Entry {
        Update update;
        Reward reward;
        bool replaceable;
    };

    struct Sum {
        Rounds rounds;
        Entry sum;
    };

    Disposition Contribute(const Update &update, const Setting &setting, std::size_t closing,
                           std::uint32_t *displaced) {
        if (update.worker >= kMembers) return Disposition::kDroppedMember;
        Sum &index = rounds_[update.index];
        const Reward reward = Reward::Of(update.reward, setting.threshold);
        Disposition disposition = Disposition::kMerged;
        switch (index.rounds.Is(update.seq, update.worker)) {
            case Rounds::Contribution::kDuplicate: return Disposition::kDroppedDuplicate;
            case Rounds::Contribution::kLate: return Disposition::kDroppedLate;
            case Rounds::Contribution::kFirst:
                if (accumulating_ >= quota_) return Disposition::kDroppedQuota;
                if (occupancy() + closing >= line_.size()) return Disposition::kDroppedFull;
                ++accumulating_;
                Begin(&index, update, reward);
                disposition = Disposition::kAppended;
                break;
            case Rounds::Contribution::kSupersedes:
                *displaced = index.sum.update.count;
                Begin(&index, update, reward);
                disposition = Disposition::kDroppedSuperseded;
                break;
            case Rounds::Contribution::kAdded:
                if (update.size != index.sum.update.size) return Disposition::kDroppedMismatch;
                *displaced = Merge(&index.sum, update, reward);
                index.rounds.Add(update.worker);
        }
        ReleaseComplete(&index, setting);
        return disposition;
    }

    void ReleaseComplete(Sum *index, const Setting &setting) {
        released_ = index->sum.update.count >= setting.wanted;
        if (!released_) return;
        index->rounds.Finish();
        --accumulating_;
        Append(index->sum);
    }

    static void Begin(Sum *index, const Update &update, const Reward &reward) {
        index->rounds.Begin(update.seq, update.worker);
        index->sum = {update, reward, false};
        index->sum.update.aggregated = 1;
    }

    // The place of an entry that is the last in line from now on.
    std::size_t Append(const Entry &entry) {
        const std::size_t place = Wrap(first_ + held_++);
        line_[place] = entry;
        return place;
    }

    std::size_t Wrap(std::size_t place) const { return place >= line_.size() ? place - line_.size() : place; }

    static Disposition Replace(Entry *waiting, const Update &update, const Reward &reward,
                               std::uint32_t *displaced, Disposition disposition) {
        *displaced = waiting->update.count;
        *waiting = {update, reward, update.aggregated == 0};
        return disposition;
    }

    // The newest constituent gives the frame its header, the best its reward; what is merged is never
    // replaced by its worker again.
    static std::uint32_t Merge(Entry *into, const Update &update, const Reward &reward) {
        const std::uint32_t count = std::uint32_t{into->update.count} + update.count;
        const std::uint16_t policy = MergedPolicy(update, into->update);
        const bool summed = update.summed && into->update.summed;
        if (AtLeastAsNew(update.gen_time, into->update.gen_time)) into->update = update;
        into->update.policy = policy;
        into->update.summed = summed;
        if (into->reward.rank < reward.rank) into->reward = reward;
        into->update.count = static_cast<std::uint16_t>(count < kCountLimit ? count : kCountLimit);
        into->update.reward = into->reward.bits;
        into->update.aggregated = 1;
        into->replaceable = false;
        return count - into->update.count;
    }

    std::vector<Entry> line_;           // a ring: departures are in the order of appends
    std::vector<std::size_t> waiting_;  // by index: the place of its update that can still be combined with
    std::vector<Setting> settings_;
    std::vector<Sum> rounds_;  // by index, once one has rounds
    std::size_t quota_;
    std::size_t first_ = 0;
    std::size_t held_ = 0;          // in line
    std::size_t accumulating_ = 0;  // sums that are not
    bool leaving_ = false, released_ = false;
};

}  // namespace olaf
