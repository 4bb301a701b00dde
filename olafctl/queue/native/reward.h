// The reward rule's comparisons (OLAF §3), exact for every binary32: no sum is rounded.

#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace olaf {

// A reward and the threshold that was in force when its update came. NaN is below every number.
class Reward {
  public:
    Reward() = default;
    Reward(std::uint32_t bits, float threshold) : bits(bits), threshold_(threshold) {
        std::memcpy(&value_, &bits, sizeof value_);
    }

    bool HigherThan(const Reward &other) const {
        return std::isnan(other.value_) ? !std::isnan(value_) : value_ > other.value_;
    }
    // Whether it exceeds the waiting update's by more than the threshold.
    bool Above(const Reward &waiting) const {
        if (std::isnan(value_)) return false;
        const Sum bound(waiting.value_, waiting.threshold_);
        if (std::isnan(bound.rounded)) return true;
        return value_ > bound.rounded || (value_ == bound.rounded && bound.rest < 0);
    }
    // Whether it falls short of the waiting update's by more than the threshold.
    bool Below(const Reward &waiting) const {
        const Sum bound(waiting.value_, -waiting.threshold_);
        if (std::isnan(bound.rounded)) return false;
        if (std::isnan(value_)) return true;
        return value_ < bound.rounded || (value_ == bound.rounded && bound.rest > 0);
    }

    std::uint32_t bits = 0;

  private:
    // A sum of two binary32 as a binary64 and what rounding it left out, which is exact (Knuth's TwoSum): the
    // binary64 nearest to the sum is on the same side of any other binary64 as the sum, or equal to that one.
    struct Sum {
        Sum(double one, double other) : rounded(one + other), rest(0.0) {
            if (!std::isfinite(rounded)) return;
            const double part = rounded - one;
            rest = (one - (rounded - part)) + (other - part);
        }
        double rounded, rest;
    };

    float value_ = 0.0f, threshold_ = 0.0f;
};

}  // namespace olaf
