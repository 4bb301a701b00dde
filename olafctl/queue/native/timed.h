// The rules in time: when an update is decided, begins to leave and has left, as the Verilog's pipeline has
// it when updates arrive whole. The unit of time is the caller's; `cycle` is the clock's period in it.

#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "fifo.h"
#include "rules.h"

// Part of what happens to each frame: a call costs as much as it does.
#define OLAF_INLINE __attribute__((always_inline)) inline

namespace olaf {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kBeatBytes = 64;
// The input takes a beat a cycle, and an update in no fewer cycles than this.
constexpr std::int64_t kLeastInputCycles = 4;
// Cycles from the first beat of an idle engine's input to the decision, from the last beat read to the last
// sent, and of that beat itself.
constexpr std::int64_t kPipelineCycles = 3 + 4 + 1;
constexpr int kRateBits = 32;

inline std::int64_t Beats(std::uint64_t size) { return (size + kBeatBytes - 1) / kBeatBytes; }

// What comes within a cycle is taken as if it came at the cycle's beginning. All times but those of `Sent`
// are kPipelineCycles earlier or less than in the Verilog: nothing outside sees them.
// `kCycle`: the clock's period where it is known when compiled, else 0.
template <typename Update, std::int64_t kCycle = 0> class TimedQueue {
  public:
    struct Pace {
        std::int64_t cycle;
        std::int64_t merge_cycles;  // of a beat through the adders' pipeline until it can be read
        std::int64_t rate = 0;      // the rate limiter's, in bits a cycle times 2^kRateBits; 0 does not limit
    };

    TimedQueue(BasicQueue<Update> rules, Pace pace, std::size_t indices)
        : queue(std::move(rules)), pace_(pace), readable_(indices, kNever) {}

    // When an update that comes now is decided: the input takes one frame after the other.
    std::int64_t DecidedAt(std::int64_t now, std::int64_t size, std::int64_t least = kLeastInputCycles) {
        const std::int64_t decided = std::max(OnClock(now), input_free_);
        input_free_ = decided + std::max(Beats(size), least) * Cycle();
        return std::max(decided, now);
    }

    OLAF_INLINE Disposition Decide(std::int64_t now, const Update &update, std::uint32_t *displaced) {
        now = OnClock(now);
        Release(now);
        const Disposition disposition = queue.Offer(update, freed_at_ == now, displaced);
        if (queue.sums()) {
            Contribute(now, update, disposition);
            return disposition;
        }
        switch (disposition) {
            case Disposition::kAppended: {
                const std::int64_t readable = Write(now, update, queue.weighs());
                const bool alone = queue.SettingOf(update.index).mode == OLAF_MODE_FIFO;
                ready_.push_back({now + Cycle(), readable, alone});
                if (!alone) readable_[update.index] = readable;
                break;
            }
            case Disposition::kReplacedWorker:
            case Disposition::kReplacedReward:
                readable_[update.index] = Write(now, update, queue.weighs());
                break;
            case Disposition::kMerged: readable_[update.index] = Write(now, update, true); break;
            default: break;
        }
        return disposition;
    }

    // A sum joined the line by a command.
    void Released(std::int64_t now, std::uint32_t index) {
        ready_.push_back({now + Cycle(), readable_[index], true});
    }

    // When the head begins to leave; kNever when nothing is to leave or that is known already.
    std::int64_t Schedule(std::int64_t now) {
        if (scheduled_ || !queue.ready()) return kNever;
        scheduled_ = true;
        const std::int64_t cycle = Cycle();
        std::int64_t begins = CycleOf(std::max({now, ready_.front().from, left_at_}) + cycle - 1);
        if (pace_.rate) begins = std::max(begins, debt_at_ + CyclesToPay());
        return begins * cycle;
    }

    // It does not, for now.
    void Unschedule() { scheduled_ = false; }

    // The head begins to leave, as scheduled.
    const Update &Send(std::int64_t now) {
        scheduled_ = false;
        Release(now);
        const Update &update = queue.Begin();
        const std::int64_t readable =
            ready_.front().alone ? ready_.front().readable : readable_[update.index];
        ready_.pop_front();
        left_at_ = std::max(now, readable) + Beats(update.size) * Cycle();
        Charge(now, update.size);
        return update;
    }

    // When what was just sent has left, to its last beat.
    std::int64_t Sent() const { return left_at_ + kPipelineCycles * Cycle(); }

    // When the slot of what leaves becomes free; kNever when nothing leaves.
    std::int64_t left_at() const { return left_at_; }

    // Frees the slot of what has left by `now`.
    void Release(std::int64_t now) {
        if (left_at_ == kNever || left_at_ > now) return;
        queue.Leave();
        freed_at_ = left_at_;
        left_at_ = kNever;
    }

    // In bits a cycle times 2^kRateBits; what is owed at the old rate is forgotten.
    void SetRate(std::int64_t now, std::int64_t rate) {
        pace_.rate = rate;
        debt_ = 0;
        debt_at_ = now / Cycle();
    }

    // See BasicQueue. `taken(update)` of each.
    template <typename Taken>
    void TakeOver(TimedQueue *from, std::uint32_t first, std::uint32_t last, std::int64_t now, Taken taken) {
        std::vector<bool> gone(from->ready_.size());
        queue.TakeOver(&from->queue, first, last, [&](Update *update, std::ptrdiff_t place) {
            if (place >= 0) {
                gone[std::size_t(place)] = true;
                ready_.push_back({now + Cycle(), kNever, from->ready_[std::size_t(place)].alone});
            }
            taken(update);
        });
        Fifo<Ready> kept;
        for (std::size_t at = 0; at < gone.size(); ++at)
            if (!gone[at]) kept.push_back(from->ready_[at]);
        from->ready_ = std::move(kept);
        std::fill(readable_.begin() + first, readable_.begin() + last + 1, kNever);
        Unschedule();
        from->Unschedule();
    }

    BasicQueue<Update> queue;

  private:
    std::int64_t OnClock(std::int64_t time) const { return CycleOf(time) * Cycle(); }
    std::int64_t Cycle() const { return kCycle ? kCycle : pace_.cycle; }
    std::int64_t CycleOf(std::int64_t time) const { return time / Cycle(); }

    // A contribution always goes through the adders. A complete sum is in line when its last contribution has
    // arrived.
    void Contribute(std::int64_t now, const Update &update, Disposition disposition) {
        const bool in = disposition == Disposition::kAppended || disposition == Disposition::kMerged ||
                        disposition == Disposition::kDroppedSuperseded;
        if (in) readable_[update.index] = Write(now, update, true);
        if (!queue.released()) return;
        const std::int64_t arrived = now + (std::max(Beats(update.size), kLeastInputCycles) - 2) * Cycle();
        ready_.push_back({arrived, readable_[update.index], true});
    }

    // An update decided now is written to its slot, through the adders' pipeline or past it
    // (hdl/olaf_merge.v): what needs neither adding nor other headers rides through it only while it is not
    // empty. When its first beat can be read.
    std::int64_t Write(std::int64_t now, const Update &update, bool changed) {
        const bool rides = changed || now <= merging_until_;
        const std::int64_t through = pace_.merge_cycles;
        if (!rides) return kNever;
        merging_until_ = now + (Beats(update.size) - 1 + through - 1) * Cycle();
        return now + through * Cycle();
    }

    std::int64_t CyclesToPay() const { return debt_ > 0 ? (debt_ + pace_.rate - 1) / pace_.rate : 0; }

    // The rate limiter charges for an update that begins to leave.
    void Charge(std::int64_t now, std::int64_t size) {
        if (!pace_.rate) return;
        debt_ -= CyclesToPay() * pace_.rate;
        debt_ += (size * 8 << kRateBits) - pace_.rate;
        debt_at_ = now / Cycle() + 1;
    }

    // Of an update in line that waits: from when on it may begin to leave, and when its first beat can be
    // read if no later update of its index is combined with it.
    struct Ready {
        std::int64_t from, readable;
        bool alone;  // none is: in mode fifo an index has several in line, each with its own instant
    };

    Pace pace_;
    Fifo<Ready> ready_;
    std::vector<std::int64_t> readable_;   // by index: the same of the update that others are combined with
    std::int64_t merging_until_ = kNever;  // the adders' pipeline is empty after this
    std::int64_t left_at_ = kNever;        // when the update that leaves has left; kNever: none does
    std::int64_t freed_at_ = kNever;       // when the last slot became free
    std::int64_t debt_ = 0;  // of the rate limiter (hdl/olaf_rate_limiter.v) at cycle `debt_at_`
    std::int64_t debt_at_ = 0;
    bool scheduled_ = false;
    std::int64_t input_free_ = 0;
};

}  // namespace olaf
