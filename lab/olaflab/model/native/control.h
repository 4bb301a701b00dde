// Transmission control (OLAF §5): what a worker does with what engines tell of themselves.
//
// The rule is that of the SDK's olaf.worker.transmission; tests/lab/model/test_control.py holds both to the
// same decisions on the same random numbers.

#pragma once

#include <algorithm>
#include <cstdint>

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

}  // namespace olaf
