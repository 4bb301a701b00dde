// The decisions of one OlafQueue (OLAF's Algorithm 1, the reward rule of OLAF §3, the head lock of
// OLAF §12.1; iSwitch's rounds and numbered sums; the staleness rule), without any notion of time: an
// update's disposition is decided, it is settled when it has arrived to its end, the head begins to leave,
// its slot becomes free.
//
// The queue of the target `software` and the laboratory's event-level model are built on these.

#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "../../wire/native/modes.h"
#include "reward.h"
#include "rounds.h"
#include "staleness.h"
#include "windows.h"

namespace olaf {

constexpr std::uint32_t kCountLimit = 65535;
constexpr std::uint64_t kGenTimeMask = (std::uint64_t{1} << 48) - 1;

// What becomes of an update; the laboratory names them in this order (DISPOSITIONS of library.py).
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
    kDroppedSuperseded,  // the sum that it supersedes is
    kDroppedQuota,
    kDroppedHalted,
    kDroppedStale,
    kCount,
};

// Whether generation time `one` is newer than `other` or the same.
inline bool AtLeastAsNew(std::uint64_t one, std::uint64_t other) {
    return ((one - other) & kGenTimeMask) < (kGenTimeMask + 1) / 2;
}

// `Update` is what is known of an update: index, worker, seq, gen_time (ns modulo 2^48), reward (bits of a
// binary32), size (bytes of the frame), count, aggregated, versions; `member()` is its number in a round, and
// `Merge(other, newer)` takes over what else of another that is merged into it, which may be the newer one,
// and `Weigh()` marks it as weighed.
template <typename Update> class BasicQueue {
  public:
    struct Setting {
        olaf_mode mode = OLAF_MODE_OLAF;
        bool reward_rule = false;
        float threshold = 0.0f;
        std::uint32_t wanted = 1;  // worker updates that make a round's result
        bool halted = false;
        bool stale_rule = false;
        std::uint32_t stale_bound = 0;  // the greatest staleness that is not dropped
    };

    // At most `quota` slots hold sums of rounds that are not complete, of up to `members` members.
    BasicQueue(std::size_t slots, std::size_t indices, std::size_t quota, std::uint32_t members = 32)
        : line_(slots),
          places_(slots),
          slots_(slots),
          waiting_(indices, kNone),
          settings_(indices),
          newest_(indices),
          quota_(quota),
          members_(members) {}

    // Whether a sum of the index was complete by now: it is in line. In another mode it begins afresh.
    bool Set(std::uint32_t index, const Setting &setting) {
        const bool afresh = settings_.at(index).mode != setting.mode;
        settings_[index] = setting;
        newest_[index].Forget();
        if (Sums(index) && rounds_.empty()) rounds_.resize(settings_.size());
        if (afresh) {
            if (Accumulates(index)) Discard(index);
            Forget(index);
        }
        return Accumulates(index) && !setting.halted && ReleaseComplete(&rounds_[index], setting);
    }

    void SetQuota(std::size_t quota) { quota_ = quota; }
    // How many it fills by itself; what it takes over may be more.
    void SetSlots(std::size_t slots) { slots_ = slots; }
    void SetShifts(const Shifts &shifts) { shifts_ = shifts; }
    const Newest &NewestOf(std::uint32_t index) const { return newest_[index]; }

    // An ACK of the index passes, with weights of this version.
    void Acknowledged(std::uint32_t index, std::uint16_t version) { newest_[index].Acknowledged(version); }

    // Of the update decided last: whether the staleness rule weighs it, and by 2 to minus how much.
    bool weighs() const { return weighs_; }
    std::uint32_t shift() const { return shift_; }
    const Setting &SettingOf(std::uint32_t index) const { return settings_[index]; }

    std::size_t occupancy() const { return held_ + accumulating_; }
    std::size_t accumulating() const { return accumulating_; }

    // Whether an update is in line that has not begun to leave.
    bool ready() const { return held_ > (leaving_ ? 1u : 0u); }

    // Whether the last update that was settled completed a round: its sum is now in line.
    bool released() const { return released_; }

    bool Sums(std::uint32_t index) const { return InRounds(index) || Numbers(index); }
    bool InRounds(std::uint32_t index) const { return settings_[index].mode == OLAF_MODE_ISWITCH; }
    bool Numbers(std::uint32_t index) const { return settings_[index].mode == OLAF_MODE_ISWITCH_ASYNC; }
    bool Accumulates(std::uint32_t index) const {
        return !rounds_.empty() && rounds_[index].rounds.accumulating();
    }
    // How far the sums of an index are: whether there was a result, which round or number, of which members.
    struct Progress {
        bool finished;
        std::uint32_t round;
        std::uint64_t members;
    };
    Progress ProgressOf(std::uint32_t index) const {
        if (rounds_.empty()) return {};
        const auto &[rounds, windows, sum] = rounds_[index];
        if (Numbers(index)) return {rounds.finished(), rounds.last(), windows.members()};
        return {rounds.finished(), rounds.round(), rounds.members()};
    }

    // Whether the update decided last is added to a sum.
    bool sums() const { return sums_; }

    // The update that one of `index` would be combined with, or nullptr.
    const Update *Waiting(std::uint32_t index) const {
        if (Sums(index)) return Accumulates(index) ? &rounds_[index].sum.update : nullptr;
        return waiting_[index] == kNone ? nullptr : &line_[waiting_[index]].update;
    }

    // Where an update can be made that Decide is given.
    Update &Arriving() { return arriving_.update; }

    // What an update that arrives will become; until it is settled or given up no other one is decided.
    // `closing` slots become free at this very instant, too late for it.
    Disposition Decide(const Update &update, std::size_t closing) {
        const Setting &setting = settings_[update.index];
        sums_ = Sums(update.index);
        if (&update != &arriving_.update) arriving_.update = update;
        arriving_.reward = Reward(update.reward, setting.threshold);
        arriving_.replaceable = update.aggregated == 0;
        arriving_.tracked = setting.mode == OLAF_MODE_OLAF;
        place_ = kNone;
        after_locked_ = false;
        // What is aggregated was weighed where its constituents came in.
        weighs_ = setting.stale_rule && !update.aggregated;
        const std::uint16_t staleness =
            weighs_ ? newest_[update.index].Behind(update.versions.weights_version) : 0;
        shift_ = weighs_ ? shifts_.Of(staleness) : 0;
        if (weighs_) arriving_.update.Weigh();
        disposition_ = setting.halted                               ? Disposition::kDroppedHalted
                       : weighs_ && staleness > setting.stale_bound ? Disposition::kDroppedStale
                       : sums_                                      ? OfSum(closing)
                                                                    : OfLine(setting, closing);
        return disposition_;
    }

    // It has arrived to its end. `displaced` is how many worker updates are discarded by a replacement or by
    // a newer round, or no longer counted by a merged frame whose count is at its limit.
    void Settle(std::uint32_t *displaced) {
        *displaced = 0;
        released_ = false;
        if (disposition_ != Disposition::kDroppedHalted)
            newest_[arriving_.update.index].Judged(disposition_ == Disposition::kDroppedStale);
        if (Sums(arriving_.update.index)) {
            Contribute(displaced);
            return;
        }
        switch (disposition_) {
            case Disposition::kAppended:
                ++held_;
                if (arriving_.tracked && !HasBegun()) waiting_[arriving_.update.index] = place_;
                break;
            case Disposition::kReplacedWorker:
            case Disposition::kReplacedReward:
                *displaced = line_[place_].update.count;
                arriving_.tracked = line_[place_].tracked;
                line_[place_] = arriving_;
                break;
            case Disposition::kMerged: *displaced = Merge(&line_[place_]); break;
            default: break;
        }
        place_ = kNone;
    }

    // It arrived to a bad end.
    void GiveUp() { place_ = kNone; }

    // Both in one, for updates that arrive whole.
    Disposition Offer(const Update &update, std::size_t closing, std::uint32_t *displaced) {
        Decide(update, closing);
        Settle(displaced);
        return disposition_;
    }

    // Whether the update that arrives has begun to leave, or the one that it joins.
    bool HasBegun() const { return place_ != kNone && leaving_ && place_ == first_; }
    // Whether the index' earlier update had begun to leave when this one was appended.
    bool after_locked() const { return after_locked_; }
    // The update that the arriving one is combined with or takes the place of; null for none.
    const Update *Joined() const {
        if (place_ != kNone) return disposition_ == Disposition::kAppended ? nullptr : &line_[place_].update;
        const std::uint32_t index = arriving_.update.index;
        return Sums(index) && Accumulates(index) ? &rounds_[index].sum.update : nullptr;
    }

    // Lets the sum of an index that accumulates join the line.
    void Release(std::uint32_t index) { Release(&rounds_[index]); }

    // Discards it.
    void Discard(std::uint32_t index) {
        rounds_[index].rounds.Discard();
        --accumulating_;
    }

    // Lets an index sum its finished round again, or number from 1 and take every contribution again; it
    // learns versions from the beginning.
    void Forget(std::uint32_t index) {
        newest_[index].Forget();
        if (rounds_.empty()) return;
        rounds_[index].rounds.Forget();
        rounds_[index].windows.Forget();
    }

    // The head begins to leave: from now on it can be neither replaced nor merged with, but by what is
    // decided already. Call when ready(), or when the arriving update is appended and nothing else waits.
    const Update &Begin() {
        const bool arrives = place_ != kNone && place_ == first_ && disposition_ == Disposition::kAppended;
        if (leaving_ || (held_ == 0 && !arrives)) throw std::logic_error("no update can begin to leave");
        leaving_ = true;
        const Update &update = line_[first_].update;
        if (waiting_[update.index] == first_) waiting_[update.index] = kNone;
        return update;
    }

    // What is leaving.
    const Update &Leaving() const { return line_[first_].update; }

    // The last beat of the head was read: its slot is free.
    void Leave() {
        if (!leaving_ || held_ == 0) throw std::logic_error("no update is leaving");
        left_ = line_[first_].tracked ? line_[first_].update.index : kNone;
        leaving_ = false;
        first_ = Wrap(first_ + 1);
        --held_;
    }

    // Takes over from `from` what of the indices `first` … `last` has not begun to leave, and what is known
    // of them; call between updates. `taken(update, place)` of each, `place` its place among those in line
    // there that had not begun to leave, -1 of a sum that accumulates.
    template <typename Taken>
    void TakeOver(BasicQueue *from, std::uint32_t first, std::uint32_t last, Taken taken) {
        std::vector<Entry> line = from->InLine();
        std::vector<Entry> kept;
        std::vector<std::uint32_t> waits;  // of the indices that stay
        for (std::size_t at = 0; at < line.size(); ++at) {
            const std::uint32_t index = line[at].update.index;
            const bool waiting = from->waiting_[index] == from->Wrap(from->first_ + at);
            if (index < first || index > last || (at == 0 && from->leaving_)) {
                kept.push_back(line[at]);
                waits.push_back(waiting ? index : kNoIndex);
                continue;
            }
            MakeRoom();
            const std::size_t place = Wrap(first_ + held_++);
            line_[place] = line[at];
            if (waiting) waiting_[index] = place;
            taken(&line_[place].update, static_cast<std::ptrdiff_t>(at) - (from->leaving_ ? 1 : 0));
        }
        for (std::uint32_t index = first; index <= last; ++index) {
            from->waiting_[index] = kNone;
            newest_[index] = from->newest_[index];
            if (!from->Accumulates(index)) continue;
            MakeRoom();
            ++accumulating_;
            --from->accumulating_;
            taken(&from->rounds_[index].sum.update, std::ptrdiff_t{-1});
        }
        if (!from->rounds_.empty()) {
            rounds_.resize(settings_.size());
            for (std::uint32_t index = first; index <= last; ++index)
                rounds_[index] = std::exchange(from->rounds_[index], {});
        }
        std::copy(kept.begin(), kept.end(), from->line_.begin());
        from->first_ = 0;
        from->held_ = kept.size();
        for (std::size_t at = 0; at < kept.size(); ++at)
            if (waits[at] != kNoIndex) from->waiting_[waits[at]] = at;
    }

  private:
    static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
    static constexpr std::uint32_t kNoIndex = static_cast<std::uint32_t>(-1);

    struct Entry {
        Update update;
        Reward reward;
        bool replaceable;
        bool tracked = false;  // later ones of its index may be combined with it
    };

    struct Sum {
        Rounds rounds;
        Windows windows;  // of numbered sums
        Entry sum;
    };

    Disposition OfLine(const Setting &setting, std::size_t closing) {
        const Update &update = arriving_.update;
        const bool fifo = setting.mode == OLAF_MODE_FIFO;
        if (fifo || waiting_[update.index] == kNone) {
            if (occupancy() + closing >= slots_) return Disposition::kDroppedFull;
            after_locked_ =
                !fifo && ((leaving_ && line_[first_].tracked && Leaving().index == update.index) ||
                          (closing && left_ == update.index));
            place_ = Wrap(first_ + held_);
            line_[place_] = arriving_;
            return Disposition::kAppended;
        }
        const Entry &waiting = line_[waiting_[update.index]];
        if (update.size != waiting.update.size) return Disposition::kDroppedMismatch;
        place_ = waiting_[update.index];
        if (waiting.replaceable && waiting.update.worker == update.worker && arriving_.replaceable) {
            return Disposition::kReplacedWorker;
        }
        if (setting.reward_rule && arriving_.reward.Above(waiting.reward)) {
            return Disposition::kReplacedReward;
        }
        if (!setting.reward_rule || !arriving_.reward.Below(waiting.reward)) return Disposition::kMerged;
        place_ = kNone;
        return Disposition::kDroppedReward;
    }

    Disposition OfSum(std::size_t closing) const {
        const Update &update = arriving_.update;
        if (update.member() >= members_) return Disposition::kDroppedMember;
        const Sum &index = rounds_[update.index];
        if (Numbers(update.index)) {
            switch (index.windows.Is(update.seq, update.member())) {
                case Windows::Contribution::kDuplicate: return Disposition::kDroppedDuplicate;
                case Windows::Contribution::kLate: return Disposition::kDroppedLate;
                case Windows::Contribution::kNew: break;
            }
            return index.rounds.accumulating() ? OfAdded(index) : OfFirst(closing);
        }
        switch (index.rounds.Is(update.seq, update.member())) {
            case Rounds::Contribution::kDuplicate: return Disposition::kDroppedDuplicate;
            case Rounds::Contribution::kLate: return Disposition::kDroppedLate;
            case Rounds::Contribution::kFirst: return OfFirst(closing);
            case Rounds::Contribution::kSupersedes: return Disposition::kDroppedSuperseded;
            case Rounds::Contribution::kAdded: break;
        }
        return OfAdded(index);
    }

    Disposition OfFirst(std::size_t closing) const {
        if (accumulating_ >= quota_) return Disposition::kDroppedQuota;
        return occupancy() + closing >= slots_ ? Disposition::kDroppedFull : Disposition::kAppended;
    }

    Disposition OfAdded(const Sum &index) const {
        return arriving_.update.size != index.sum.update.size ? Disposition::kDroppedMismatch
                                                              : Disposition::kMerged;
    }

    void Contribute(std::uint32_t *displaced) {
        Sum &index = rounds_[arriving_.update.index];
        switch (disposition_) {
            case Disposition::kAppended:
                ++accumulating_;
                Begin(&index);
                break;
            case Disposition::kDroppedSuperseded:
                *displaced = index.sum.update.count;
                Begin(&index);
                break;
            case Disposition::kMerged:
                *displaced = Merge(&index.sum);
                index.rounds.Add(arriving_.update.member());
                break;
            default: return;
        }
        if (Numbers(arriving_.update.index))
            index.windows.Take(arriving_.update.seq, arriving_.update.member());
        released_ = ReleaseComplete(&index, settings_[arriving_.update.index]);
    }

    bool ReleaseComplete(Sum *index, const Setting &setting) {
        if (index->sum.update.count < setting.wanted) return false;
        Release(index);
        return true;
    }

    void Release(Sum *index) {
        index->rounds.Finish();
        index->sum.update.seq = index->rounds.last();
        --accumulating_;
        line_[Wrap(first_ + held_++)] = index->sum;
    }

    void Begin(Sum *index) {
        const bool numbers = Numbers(arriving_.update.index);
        index->rounds.Begin(numbers ? index->rounds.last() + 1 : arriving_.update.seq,
                            arriving_.update.member());
        index->sum = {arriving_.update, arriving_.reward, false};
        index->sum.update.aggregated = 1;
    }

    std::vector<Entry> InLine() const {
        std::vector<Entry> line;
        for (std::size_t at = 0; at < held_; ++at) line.push_back(line_[Wrap(first_ + at)]);
        return line;
    }

    // For one more than it may fill by itself.
    void MakeRoom() {
        if (occupancy() < line_.size()) return;
        const std::size_t before = line_.size();
        line_.resize(2 * before);
        places_ = line_.size();
        for (std::size_t place = 0; place < first_ && first_ + held_ > before; ++place) {
            line_[before + place] = line_[place];
            const std::uint32_t index = line_[place].update.index;
            if (waiting_[index] == place) waiting_[index] = before + place;
        }
    }

    std::size_t Wrap(std::size_t place) const { return place >= places_ ? place - places_ : place; }

    // The newest constituent gives the frame its header, the best its reward; what is merged is never
    // replaced by its worker again.
    std::uint32_t Merge(Entry *into) {
        const Update &update = arriving_.update;
        const std::uint32_t count = std::uint32_t{into->update.count} + update.count;
        into->update.Merge(update, AtLeastAsNew(update.gen_time, into->update.gen_time));
        if (arriving_.reward.HigherThan(into->reward)) into->reward = arriving_.reward;
        into->update.count = static_cast<std::uint16_t>(count < kCountLimit ? count : kCountLimit);
        into->update.reward = into->reward.bits;
        into->update.aggregated = 1;
        into->replaceable = false;
        return count - into->update.count;
    }

    std::vector<Entry> line_;  // a ring: departures are in the order of appends
    std::size_t places_;       // in it
    std::size_t slots_;
    std::vector<std::size_t> waiting_;  // by index: the place of its update that can still be combined with
    std::vector<Setting> settings_;
    std::vector<Newest> newest_;  // by index
    Shifts shifts_;
    std::vector<Sum> rounds_;  // by index, once one has rounds
    std::size_t quota_;
    std::uint32_t members_;
    std::size_t first_ = 0;
    std::size_t held_ = 0;          // in line
    std::size_t accumulating_ = 0;  // sums that are not
    std::size_t left_ = kNone;      // the index of what left last
    Entry arriving_{};
    std::size_t place_ = kNone;  // where the arriving update is in line, or what it joins
    Disposition disposition_ = Disposition::kCount;
    bool sums_ = false, leaving_ = false, released_ = false, after_locked_ = false, weighs_ = false;
    std::uint32_t shift_ = 0;
};

}  // namespace olaf
