// One direction of a link between two engines: a FIFO that takes time to send each frame, then delays it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "olafswitch/ports/native/ports.h"

namespace olaf {

struct CableSpeed {
    uint64_t rate;   // bit/s; 0 sends a frame in no time
    uint64_t delay;  // ns until the end of a frame that has been sent arrives
    uint64_t room;   // frames that wait or are being sent; more are lost
};

class Cable {
  public:
    struct Flight {
        uint64_t sent, arrives;  // ns
        std::vector<uint8_t> frame;
    };

    Cable(unsigned from, unsigned to, CableSpeed speed) : from(from), to(to), speed_(speed) {}

    // False when there is no room.
    bool put(const uint8_t *frame, size_t length, uint64_t now) {
        auto unsent = std::partition_point(flights_.begin(), flights_.end(),
                                           [now](const Flight &flight) { return flight.sent <= now; });
        if (uint64_t(flights_.end() - unsent) >= speed_.room) {
            dropped++;
            return false;
        }
        // In picoseconds, or short frames on a fast link would take too long together.
        free_at_ = std::max(free_at_, now * 1000);
        if (speed_.rate) free_at_ += uint64_t(length) * 8 * 1000000000000 / speed_.rate;
        uint64_t sent = (free_at_ + 999) / 1000;
        flights_.push_back({sent, sent + speed_.delay, {frame, frame + length}});
        frames++;
        bytes += length;
        return true;
    }

    bool empty() const { return flights_.empty(); }
    const Flight &front() const { return flights_.front(); }
    Flight &front() { return flights_.front(); }
    void pop() { flights_.pop_front(); }

    void clear() {
        flights_.clear();
        free_at_ = 0;
    }

    unsigned from, to;  // ports
    uint64_t frames = 0, bytes = 0, dropped = 0;

  private:
    CableSpeed speed_;
    std::deque<Flight> flights_;
    uint64_t free_at_ = 0;  // ps
};

// All links of a process, both directions, found by the port at which a frame goes in.
class Cables {
  public:
    // Shorter waits of the wall clock are not worth a sleep of a millisecond.
    static constexpr uint64_t SHORT_NS = 100000;

    void link(unsigned port, unsigned peer, CableSpeed speed) {
        for (auto [from, to] : {std::pair{port, peer}, std::pair{peer, port}}) {
            all_.push_back(std::make_unique<Cable>(from, to, speed));
            if (from_.size() <= from) from_.resize(from + 1);
            from_[from] = all_.back().get();
        }
        shortest_ = std::min(shortest_, speed.delay);
    }

    Cable *from(unsigned port) const { return port < from_.size() ? from_[port] : nullptr; }
    const std::vector<std::unique_ptr<Cable>> &all() const { return all_; }
    bool empty() const {
        return std::all_of(all_.begin(), all_.end(), [](const auto &cable) { return cable->empty(); });
    }
    void clear() {
        for (auto &cable : all_) cable->clear();
    }

    // The shortest delay in ns; UINT64_MAX without links.
    uint64_t shortest() const { return shortest_; }

    // The cable whose next frame arrives first, of several the one that was made first; null when all are
    // empty.
    Cable *next() const {
        Cable *found = nullptr;
        for (auto &cable : all_) {
            if (cable->empty()) continue;
            if (found == nullptr || cable->front().arrives < found->front().arrives) found = cable.get();
        }
        return found;
    }

    // Wall clock: `arrived(port, frame, length)` for all that is due; returns the ns until the next is.
    template <typename Arrived> uint64_t advance(uint64_t now, Arrived arrived) {
        Cable *cable = next();
        for (; cable != nullptr && cable->front().arrives <= now; cable = next()) {
            std::vector<uint8_t> frame = std::move(cable->front().frame);
            cable->pop();
            arrived(cable->to, frame.data(), frame.size());
        }
        if (cable == nullptr) return UINT64_MAX;
        uint64_t left = cable->front().arrives - now;
        return left < SHORT_NS ? 0 : left;
    }

    // What a link has carried, at the end that is port `port`; false when no link ends there.
    bool stats(unsigned port, PortStats &stats) const {
        const Cable *out = from(port);
        if (out == nullptr) return false;
        const Cable &in = *from(out->to);
        stats = {};
        stats.rx_frames = in.frames;
        stats.rx_bytes = in.bytes;
        stats.tx_frames = out->frames;
        stats.tx_bytes = out->bytes;
        stats.tx_dropped = out->dropped;
        return true;
    }

  private:
    std::vector<std::unique_ptr<Cable>> all_;
    std::vector<Cable *> from_;
    uint64_t shortest_ = UINT64_MAX;
};

}  // namespace olaf
