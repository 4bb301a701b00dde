// One engine in time: its queue, its clock, its rate limiter and the two directions of its link.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <vector>

#include "age.h"
#include "control.h"
#include "rules.h"
#include "simulate.h"

namespace olaf {

constexpr std::int64_t kBeatBytes = 64;
// The input takes a beat a cycle, and an update in no fewer cycles than this.
constexpr std::int64_t kLeastInputCycles = 4;
// Cycles from the first beat of an idle engine's input to the decision, from the last beat read to the last
// sent, and of that beat itself.
constexpr std::int64_t kPipelineCycles = 3 + 4 + 1;

inline std::int64_t Beats(const Update &update) { return (update.size + kBeatBytes - 1) / kBeatBytes; }

// All times are picoseconds. What comes within a cycle is taken as if it came at the cycle's beginning.
class Engine {
  public:
    Engine(const OlafEngine &given, std::size_t indices)
        : queue(given.slots, indices, given.quota),
          setting(given),
          activity(given.window, indices),
          readable_(indices, kNever) {}

    // When an update that comes now is decided: the input takes one after the other.
    std::int64_t DecidedAt(std::int64_t now, const Update &update) {
        const std::int64_t decided = std::max(OnClock(now), input_free_);
        input_free_ = decided + std::max(Beats(update), kLeastInputCycles) * setting.cycle;
        return std::max(decided, now);
    }

    Disposition Decide(std::int64_t now, const Update &update, std::uint32_t *displaced) {
        now = OnClock(now);
        Release(now);
        activity.Mark(now, update.index);
        const Disposition disposition = queue.Offer(update, freed_at_ == now, displaced);
        ++counters.dispositions[static_cast<int>(disposition)];
        if (queue.Sums(update.index)) {
            Contribute(now, update, disposition);
            return disposition;
        }
        switch (disposition) {
            case Disposition::kAppended: ready_.push_back({now + setting.cycle, kNever}); [[fallthrough]];
            case Disposition::kReplacedWorker:
            case Disposition::kReplacedReward: Write(now, update, false); break;
            case Disposition::kMerged: Write(now, update, true); break;
            default: break;
        }
        return disposition;
    }

    // When the head begins to leave; kNever when nothing is to leave or that is known already.
    std::int64_t Schedule(std::int64_t now) {
        if (scheduled_ || !queue.ready()) return kNever;
        scheduled_ = true;
        const std::int64_t cycle = setting.cycle;
        std::int64_t begins = (std::max({now, ready_.front().from, left_at_}) + cycle - 1) / cycle;
        if (setting.rate) begins = std::max(begins, debt_at_ + CyclesToPay());
        return begins * cycle;
    }

    // The head begins to leave, as scheduled.
    Update Send(std::int64_t now) {
        scheduled_ = false;
        Release(now);
        const Update update = queue.Begin();
        const std::int64_t readable =
            queue.Sums(update.index) ? ready_.front().readable : readable_[update.index];
        ready_.pop_front();
        ++counters.sent;
        left_at_ = std::max(now, readable) + Beats(update) * setting.cycle;
        Charge(now, update.size);
        return update;
    }

    // When what was just sent has left.
    std::int64_t Sent() const { return left_at_ + kPipelineCycles * setting.cycle; }

    // When what was just sent reaches the link's end, store and forward, in whole nanoseconds; kNever when
    // the link drops it.
    std::int64_t Transmit(const Update &update) {
        const std::int64_t sent = Sent();
        while (!on_link_.empty() && on_link_.front() <= sent) on_link_.pop_front();
        if (setting.link_capacity && on_link_.size() >= setting.link_capacity) {
            ++counters.link_dropped;
            return kNever;
        }
        up_free_ = std::max(sent, up_free_) + OnLink(update.size);
        const std::int64_t over = (up_free_ + kPsPerNs - 1) / kPsPerNs * kPsPerNs;
        if (setting.link_capacity) on_link_.push_back(over);
        return over + setting.link_delay;
    }

    // When an ACK of `bytes` that enters the far end of the link now has come.
    std::int64_t TransmitDown(std::int64_t now, std::int64_t bytes) {
        down_free_ = std::max(now, down_free_) + OnLink(bytes);
        return down_free_ + setting.link_delay;
    }

    // Q_max/N, at most 1.
    double Share(std::int64_t now) {
        const std::size_t active = std::max<std::size_t>(activity.Active(now), 1);
        return std::min(static_cast<double>(setting.slots) / static_cast<double>(active), 1.0);
    }

    Queue queue;
    const OlafEngine setting;
    Activity activity;
    OlafCounters counters{};

  private:
    std::int64_t OnClock(std::int64_t time) const { return time / setting.cycle * setting.cycle; }

    // A contribution always goes through the adders. A complete sum is in line when its last contribution has
    // arrived.
    void Contribute(std::int64_t now, const Update &update, Disposition disposition) {
        const bool in = disposition == Disposition::kAppended || disposition == Disposition::kMerged ||
                        disposition == Disposition::kDroppedSuperseded;
        if (in) Write(now, update, true);
        if (!queue.released()) return;
        const std::int64_t arrived = now + (std::max(Beats(update), kLeastInputCycles) - 2) * setting.cycle;
        ready_.push_back({arrived, readable_[update.index]});
    }

    // An update decided now is written to its slot, through the adders' pipeline or past it
    // (hdl/olaf_merge.v): what needs no adding rides through it only while it is not empty.
    void Write(std::int64_t now, const Update &update, bool merged) {
        const bool rides = merged || now <= merging_until_;
        const std::int64_t through = setting.merge_cycles;
        readable_[update.index] = rides ? now + through * setting.cycle : kNever;
        if (rides) merging_until_ = now + (Beats(update) - 1 + through - 1) * setting.cycle;
    }

    // Frees the slot of what has left by `now`.
    void Release(std::int64_t now) {
        if (left_at_ == kNever || left_at_ > now) return;
        queue.Leave();
        freed_at_ = left_at_;
        left_at_ = kNever;
    }

    std::int64_t CyclesToPay() const { return debt_ > 0 ? (debt_ + setting.rate - 1) / setting.rate : 0; }

    // The rate limiter charges for an update that begins to leave.
    void Charge(std::int64_t now, std::int64_t size) {
        if (!setting.rate) return;
        debt_ -= CyclesToPay() * setting.rate;
        debt_ += (size * 8 << 32) - setting.rate;
        debt_at_ = now / setting.cycle + 1;
    }

    std::int64_t OnLink(std::int64_t bytes) const {
        return std::llround(static_cast<double>(bytes) * setting.link_ps_per_byte);
    }

    // Of an update in line that waits: from when on it may begin to leave, and when a sum's first beat can be
    // read.
    struct Ready {
        std::int64_t from, readable;
    };

    std::deque<Ready> ready_;
    std::vector<std::int64_t> readable_;   // by index: when the first beat of its update in line can be read
    std::int64_t merging_until_ = kNever;  // the adders' pipeline is empty after this
    std::int64_t left_at_ = kNever;        // when the update that leaves has left; kNever: none does
    std::int64_t freed_at_ = kNever;       // when the last slot became free
    std::int64_t debt_ = 0;  // of the rate limiter (hdl/olaf_rate_limiter.v) at cycle `debt_at_`, times 2^32
    std::int64_t debt_at_ = 0;
    bool scheduled_ = false;
    std::int64_t input_free_ = 0;
    std::int64_t up_free_ = 0, down_free_ = 0;
    std::deque<std::int64_t> on_link_;  // when each frame waiting or being sent has left the link's queue
};

}  // namespace olaf
