#include "replay.h"

#include <unistd.h>

#include <cstring>

#include "olafswitch/ports/native/failure.h"
#include "processor_time.h"

namespace olaf {
namespace {

constexpr size_t READ_BYTES = 1 << 20;
constexpr unsigned REFUSED = 1;

class Session {
  public:
    explicit Session(int socket) : socket_(socket) {}

    // The next batch of bytes; false at the end of what the peer sends.
    bool fill() {
        ssize_t got = ::read(socket_, read_.get(), READ_BYTES);
        if (got < 0) fail("reading frames to replay");
        in_.insert(in_.end(), read_.get(), read_.get() + got);
        return got > 0;
    }

    // Run the complete records that are there; an empty answer, or what is wrong with them.
    std::string run(Network &network) {
        entered_ = processor_ns();
        return run_all(network);
    }

    void finish(Network &network) { network.finish(deliver_); }

    bool cut_off() const { return !in_.empty(); }

    void end(const std::string &wrong) {
        append({END_OF_REPLAY, wrong.empty() ? 0 : REFUSED, uint32_t(wrong.size())},
               reinterpret_cast<const uint8_t *>(wrong.data()));
    }

    void flush() {
        size_t done = 0;
        while (done < out_.size()) {
            ssize_t written = ::write(socket_, out_.data() + done, out_.size() - done);
            if (written < 0) fail("writing replayed frames");
            done += size_t(written);
        }
        out_.clear();
    }

  private:
    std::string run_all(Network &network) {
        size_t position = 0;
        std::string wrong;
        while (wrong.empty() && in_.size() - position >= sizeof(ReplayRecord)) {
            ReplayRecord record;
            std::memcpy(&record, in_.data() + position, sizeof record);
            wrong = check(record, network);
            if (!wrong.empty() || in_.size() - position - sizeof record < record.length) break;
            if (record.port == ADVANCE)
                advance(network, record.time);
            else
                network.arrived_at(record.port, in_.data() + position + sizeof record, record.length,
                                   record.time);
            position += sizeof record + record.length;
            time_ = record.time;
        }
        if (wrong.empty()) network.run_until(time_, deliver_);
        in_.erase(in_.begin(), in_.begin() + ptrdiff_t(position));
        return wrong;
    }

    void advance(Network &network, uint64_t time) {
        network.run_until(time, deliver_);
        uint64_t now = processor_ns();
        spent_ += now - entered_;
        entered_ = now;
        Answer answer{network.next(), spent_, now - began_};
        append({time, ADVANCE, sizeof answer}, reinterpret_cast<const uint8_t *>(&answer));
    }

    std::string check(const ReplayRecord &record, const Network &network) const {
        if (record.time < time_)
            return "record at " + std::to_string(record.time) + " ns after one at " + std::to_string(time_) +
                   " ns";
        if (record.port == ADVANCE) return record.length == 0 ? "" : "request to advance that has a body";
        if (record.length > MAX_FRAME) return "frame of " + std::to_string(record.length) + " bytes";
        if (!network.is_front(record.port)) return "no front port " + std::to_string(record.port);
        return "";
    }

    void append(ReplayRecord record, const uint8_t *frame) {
        const auto *bytes = reinterpret_cast<const uint8_t *>(&record);
        out_.insert(out_.end(), bytes, bytes + sizeof record);
        out_.insert(out_.end(), frame, frame + record.length);
    }

    int socket_;
    uint64_t time_ = 0;
    uint64_t began_ = processor_ns(), entered_ = 0, spent_ = 0;
    // Not a vector: one that grows for each read writes zeros first, more than most reads bring.
    std::unique_ptr<uint8_t[]> read_{new uint8_t[READ_BYTES]};
    std::vector<uint8_t> in_, out_;
    Network::Deliver deliver_ = [this](uint64_t time, unsigned port, const uint8_t *frame, size_t length) {
        append({time, port, uint32_t(length)}, frame);
    };
};

// The packet thread is held out of the network for the session, register accesses are not.
class Exclusive {
  public:
    explicit Exclusive(Engine &engine) : engine_(engine) { engine_.set_exclusive(true); }
    ~Exclusive() {
        engine_.act([this](Wiring &wiring) { static_cast<Network &>(wiring).resume(engine_.now()); });
        engine_.set_exclusive(false);
    }

  private:
    Engine &engine_;
};

}  // namespace

void replay(Engine &engine, int socket, const std::vector<QueueSettings> &settings) {
    Exclusive exclusive(engine);
    std::string wrong;
    engine.act([&](Wiring &wiring) {
        if (!wiring.ready()) wrong = "no pipeline has been pushed yet";
        static_cast<Network &>(wiring).begin_replay(settings);
    });
    Session session(socket);
    while (wrong.empty() && session.fill()) {
        engine.act([&](Wiring &wiring) { wrong = session.run(static_cast<Network &>(wiring)); });
        session.flush();
    }
    if (wrong.empty() && session.cut_off()) wrong = "the last frame is not complete";
    if (wrong.empty()) engine.act([&](Wiring &wiring) { session.finish(static_cast<Network &>(wiring)); });
    session.end(wrong);
    session.flush();
}

}  // namespace olaf
