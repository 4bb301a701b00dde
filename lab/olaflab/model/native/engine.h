// One engine in time: its queue, its clock, its rate limiter and the two directions of its link.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <vector>

#include "activity.h"
#include "age.h"
#include "control.h"
#include "simulate.h"
#include "update.h"

namespace olaf {

// All times are picoseconds. What comes within a cycle is taken as if it came at the cycle's beginning.
class Engine {
  public:
    Engine(const OlafEngine &given, std::size_t indices)
        : setting(given),
          activity_(given.window, indices),
          timed_({given.slots, indices, given.quota}, {given.cycle, given.merge_cycles, given.rate},
                 indices) {}

    Queue &queue() { return timed_.queue; }

    // When an update that comes now is decided: the input takes one after the other.
    std::int64_t DecidedAt(std::int64_t now, const Update &update) {
        return timed_.DecidedAt(now, update.size);
    }

    Disposition Decide(std::int64_t now, const Update &update, std::uint32_t *displaced) {
        activity_.Mark(now / setting.cycle * setting.cycle, update.index);
        const Disposition disposition = timed_.Decide(now, update, displaced);
        ++counters.dispositions[static_cast<int>(disposition)];
        return disposition;
    }

    // When the head begins to leave; kNever when nothing is to leave or that is known already.
    std::int64_t Schedule(std::int64_t now) { return timed_.Schedule(now); }

    // The head begins to leave, as scheduled.
    Update Send(std::int64_t now) {
        ++counters.sent;
        return timed_.Send(now);
    }

    // When what was just sent has left.
    std::int64_t Sent() const { return timed_.Sent(); }

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
        const std::size_t active = std::max<std::size_t>(activity_.Active(now), 1);
        return std::min(static_cast<double>(setting.slots) / static_cast<double>(active), 1.0);
    }

    const OlafEngine setting;
    OlafCounters counters{};

  private:
    std::int64_t OnLink(std::int64_t bytes) const {
        return std::llround(static_cast<double>(bytes) * setting.link_ps_per_byte);
    }

    Activity activity_;
    TimedQueue<Update> timed_;
    std::int64_t up_free_ = 0, down_free_ = 0;
    std::deque<std::int64_t> on_link_;  // when each frame waiting or being sent has left the link's queue
};

}  // namespace olaf
