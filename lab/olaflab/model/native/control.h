// Transmission control (OLAF §5): what an engine tells of itself, and what a worker does with it.
//
// The rule is that of the SDK's olaf.transmission; tests/lab/model/test_control.py holds both to the same
// decisions on the same random numbers.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace olaf {

constexpr double kSecondsPerPs = 1e-12;

// One worker's state. Times are picoseconds.
class Control {
  public:
    Control() = default;
    // `v` in 1/s, the tolerance in seconds.
    Control(double v, double tolerance) : v_(v), tolerance_(tolerance) {}

    // An ACK came. `share` is Q_max/N of the tightest engine that it crossed.
    void Acknowledged(std::int64_t now, double share) {
        heard_ = now;
        share_ = share;
        answered_ = true;
    }

    // P_s; 1 before the first ACK.
    double Probability(std::int64_t now) const {
        if (!answered_) return 1.0;
        const double silence = static_cast<double>(now - heard_) * kSecondsPerPs;
        return std::min(share_ + v_ * std::max(silence - tolerance_, 0.0), 1.0);
    }

  private:
    double v_ = 0.0, tolerance_ = 0.0;
    double share_ = 1.0;
    std::int64_t heard_ = 0;
    bool answered_ = false;
};

// How many indices sent an update within the last `window` (hdl/olaf_activity.v).
class Activity {
  public:
    Activity(std::int64_t window, std::size_t indices) : window_(window), sent_at_(indices, kSilent) {}

    void Mark(std::int64_t now, std::uint32_t index) {
        if (sent_at_[index] == kSilent) looks_.push_back({now, index});
        sent_at_[index] = now;
    }

    std::size_t Active(std::int64_t now) {
        while (!looks_.empty() && now - looks_.front().time > window_) {
            const std::uint32_t index = looks_.front().index;
            looks_.pop_front();
            std::int64_t &sent = sent_at_[index];
            if (now - sent > window_) {
                sent = kSilent;
            } else {
                Insert({sent, index});
            }
        }
        return looks_.size();
    }

  private:
    struct Look {
        std::int64_t time;
        std::uint32_t index;
    };

    // Looks stay in order of time, so that the first one is the next that can end.
    void Insert(const Look &look) {
        const auto later = [](const Look &one, const Look &other) { return one.time < other.time; };
        looks_.insert(std::upper_bound(looks_.begin(), looks_.end(), look, later), look);
    }

    static constexpr std::int64_t kSilent = -1;
    std::int64_t window_;
    std::vector<std::int64_t> sent_at_;
    std::deque<Look> looks_;  // one an active index
};

}  // namespace olaf
