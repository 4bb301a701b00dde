#include "replay.h"

#include <unistd.h>

#include <cstring>

#include "../../ports/native/failure.h"

namespace olaf {
namespace {

constexpr size_t READ_BYTES = 1 << 20;
constexpr unsigned REFUSED = 1;

class Session {
  public:
    Session(int socket, unsigned last_front) : socket_(socket), last_front_(last_front) {}

    // The next batch of bytes; false at the end of what the peer sends.
    bool fill() {
        size_t old = in_.size();
        in_.resize(old + READ_BYTES);
        ssize_t got = ::read(socket_, in_.data() + old, READ_BYTES);
        in_.resize(old + size_t(got > 0 ? got : 0));
        if (got < 0) fail("reading frames to replay");
        return got > 0;
    }

    // Run the complete records that are there; an empty answer, or what is wrong with them.
    std::string run(Twin &twin) {
        size_t position = 0;
        std::string wrong;
        while (wrong.empty() && in_.size() - position >= sizeof(ReplayRecord)) {
            ReplayRecord record;
            std::memcpy(&record, in_.data() + position, sizeof record);
            wrong = check(record);
            if (!wrong.empty() || in_.size() - position - sizeof record < record.length) break;
            twin.arrived_at(record.port, in_.data() + position + sizeof record, record.length, record.time);
            position += sizeof record + record.length;
            time_ = record.time;
        }
        in_.erase(in_.begin(), in_.begin() + ptrdiff_t(position));
        if (wrong.empty()) twin.run_until(time_, deliver_);
        return wrong;
    }

    void finish(Twin &twin) { twin.finish(deliver_); }

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
    std::string check(const ReplayRecord &record) const {
        if (record.time < time_)
            return "frame at " + std::to_string(record.time) + " ns after one at " + std::to_string(time_) +
                   " ns";
        if (record.length > MAX_FRAME) return "frame of " + std::to_string(record.length) + " bytes";
        if (record.port < 1 || record.port > last_front_)
            return "no front port " + std::to_string(record.port);
        return "";
    }

    void append(ReplayRecord record, const uint8_t *frame) {
        const auto *bytes = reinterpret_cast<const uint8_t *>(&record);
        out_.insert(out_.end(), bytes, bytes + sizeof record);
        out_.insert(out_.end(), frame, frame + record.length);
    }

    int socket_;
    unsigned last_front_;
    uint64_t time_ = 0;
    std::vector<uint8_t> in_, out_;
    Twin::Deliver deliver_ = [this](uint64_t time, unsigned port, const uint8_t *frame, size_t length) {
        append({time, port, uint32_t(length)}, frame);
    };
};

// The packet thread is held out of the twin for the session, register accesses are not.
class Exclusive {
  public:
    explicit Exclusive(Engine &engine) : engine_(engine) { engine_.set_exclusive(true); }
    ~Exclusive() {
        engine_.act([this](Wiring &wiring) { static_cast<Twin &>(wiring).queue.resume(engine_.now()); });
        engine_.set_exclusive(false);
    }

  private:
    Engine &engine_;
};

}  // namespace

void replay(Engine &engine, int socket, const QueueSettings &settings) {
    unsigned last_front = 0;
    Exclusive exclusive(engine);
    std::string wrong;
    engine.act([&](Wiring &wiring) {
        last_front = static_cast<Twin &>(wiring).last_front();
        if (!wiring.ready()) wrong = "no pipeline has been pushed yet";
        static_cast<Twin &>(wiring).begin_replay(settings);
    });
    Session session(socket, last_front);
    while (wrong.empty() && session.fill()) {
        engine.act([&](Wiring &wiring) { wrong = session.run(static_cast<Twin &>(wiring)); });
        session.flush();
    }
    if (wrong.empty() && session.cut_off()) wrong = "the last frame is not complete";
    if (wrong.empty()) engine.act([&](Wiring &wiring) { session.finish(static_cast<Twin &>(wiring)); });
    session.end(wrong);
    session.flush();
}

}  // namespace olaf
