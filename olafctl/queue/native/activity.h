// How many indices sent an update within the last `window` (hdl/olaf_activity.v).

#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "fifo.h"

namespace olaf {

class Activity {
  public:
    // With `turns` an index is looked at every so many units of time, as in the Verilog, whose clock that is,
    // and counts until the first look after its window; with 0 it counts exactly as long as its window.
    Activity(std::int64_t window, std::size_t indices, std::int64_t turns = 0)
        : window_(window), turns_(turns), sent_at_(indices, kSilent) {}

    void Mark(std::int64_t now, std::uint32_t index) {
        if (sent_at_[index] == kSilent) Insert({End(now, index), index});
        sent_at_[index] = now;
    }

    std::size_t Active(std::int64_t now) {
        while (!looks_.empty() && now > looks_.front().end) {
            const std::uint32_t index = looks_.front().index;
            looks_.pop_front();
            std::int64_t &sent = sent_at_[index];
            const std::int64_t end = End(sent, index);
            if (now > end) {
                sent = kSilent;
            } else {
                Insert({end, index});
            }
        }
        return looks_.size();
    }

    // No longer counts an index; when it sent, or kSilent.
    std::int64_t Forget(std::uint32_t index) {
        for (std::size_t left = looks_.size(); left; --left) {
            const Look look = looks_.front();
            looks_.pop_front();
            if (look.index != index) looks_.push_back(look);
        }
        return std::exchange(sent_at_[index], kSilent);
    }

    // How long an index counts, from now on and for those that count now.
    void SetWindow(std::int64_t window) {
        window_ = window;
        looks_.clear();
        for (std::uint32_t index = 0; index < sent_at_.size(); ++index) {
            if (sent_at_[index] != kSilent) Insert({End(sent_at_[index], index), index});
        }
    }

    static constexpr std::int64_t kSilent = -1;

  private:
    struct Look {
        std::int64_t end;  // the last instant at which it counts
        std::uint32_t index;
    };

    std::int64_t End(std::int64_t sent, std::uint32_t index) const {
        if (turns_ == 0) return sent + window_;
        const std::int64_t over = sent + window_ + 1;
        return over + (static_cast<std::int64_t>(index) - over % turns_ + turns_) % turns_;
    }

    // Looks stay in order of time, so that the first one is the next that can end.
    void Insert(const Look &look) {
        std::size_t at = looks_.size();
        looks_.push();
        for (; at && looks_[at - 1].end > look.end; --at) looks_[at] = looks_[at - 1];
        looks_[at] = look;
    }

    std::int64_t window_, turns_;
    std::vector<std::int64_t> sent_at_;
    Fifo<Look> looks_;  // one an active index
};

}  // namespace olaf
