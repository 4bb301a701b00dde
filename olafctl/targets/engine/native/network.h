// Engines and the links between them. In virtual time they run one after the other, none farther ahead of
// the others than the shortest delay between two: what one sends cannot arrive earlier than that.
#pragma once
#include <functional>
#include <memory>

#include "shards.h"
#include "twin.h"

namespace olaf {

class Network final : public QueueWiring {
  public:
    // `time` is virtual, in ns.
    using Deliver = std::function<void(uint64_t time, unsigned port, const uint8_t *frame, size_t length)>;

    // One engine for each library of a queue. Ports belong to the first until another one owns them. In one
    // lane of the native engine; with `shards` it is the one of that number, of an engine alone.
    Network(Engine &engine, WiredPorts ports, const std::vector<std::string> &queue_libraries,
            unsigned lane = 0, std::shared_ptr<Shards> shards = nullptr);

    void own(unsigned port, unsigned place) { place_at_.at(port) = place; }

    bool ready() const override;
    void set_switch(unsigned device, Switch program) override;
    void arrived(unsigned port, const uint8_t *frame, size_t length, uint64_t now) override;
    void packet_out(unsigned device, const uint8_t *frame, size_t length, uint64_t now) override;
    uint64_t advance(uint64_t now) override;
    bool more() const override;

    // A shard: a batch of what each other shard has sent it goes to its queue; what its queue has decided is
    // sent.
    void take_in();
    void send_all();

    // Virtual time: a frame's first beat reaches the queue at the cycle of its arrival, and what leaves by a
    // front port is given to `deliver`, by time, with the time at which its last beat has left the queue.
    // What has arrived stays the caller's, and must stay where it is until it was run to that time.
    void begin_replay(const std::vector<QueueSettings> &settings);
    void arrived_at(unsigned port, const uint8_t *frame, size_t length, uint64_t time);
    void run_until(uint64_t time, const Deliver &deliver);
    void finish(const Deliver &deliver);
    bool waiting() const;  // whether time alone makes something happen
    // Before this nothing leaves unless something else arrives; NEVER when nothing will.
    uint64_t next() const { return waiting() ? soonest(clock_ + SLICE_NS) : NEVER; }

    // Back to the wall clock; what is on its way between engines is lost.
    void resume(uint64_t now);

    // The queue's registers, of several shards as those of one queue. With the turns of all lanes held.
    void catch_up(unsigned place, uint64_t now) override;
    uint32_t read(unsigned place, uint32_t offset) override;
    void write(unsigned place, uint32_t offset, uint32_t value) override;

    Shards *shards() { return shards_.get(); }
    QueueStage &queue_of(unsigned place) override { return twins_.at(place)->queue; }
    bool has(unsigned place) const override { return place < twins_.size(); }
    bool is_front(unsigned port) const {
        return port >= 1 && port <= ports_.last_front && cables.from(port) == nullptr;
    }

  private:
    static constexpr uint64_t SLICE_NS = 1000000000;  // how far at most it is looked ahead

    struct Arrival {
        uint64_t time;
        unsigned port;
        const uint8_t *frame;
        size_t length;
    };
    struct Departure {
        uint64_t time;
        unsigned port;
        std::vector<uint8_t> frame;
    };

    Twin &twin_at(unsigned port) { return *twins_[place_at_[port]]; }
    bool offer(Twin &twin, const uint8_t *frame, size_t length, uint64_t now);
    // Apart, so that the way of all other frames stays short.
    [[gnu::noinline]] bool offer_to_shard(Twin &twin, const uint8_t *frame, size_t length, uint64_t now);
    [[gnu::noinline]] bool send_by(Cable &cable, const uint8_t *frame, size_t length, uint64_t now);
    auto leaving_now(unsigned place, uint64_t now);
    bool send(unsigned place, unsigned port, const uint8_t *frame, size_t length, uint64_t now);
    void offer_at(unsigned port, const uint8_t *frame, size_t length, uint64_t time);
    uint64_t soonest(uint64_t limit) const;
    void take_arrivals(uint64_t end);
    void window(uint64_t end, const Deliver &deliver);
    auto leaving(unsigned place, const Deliver &deliver);

    Engine &engine_;
    WiredPorts ports_;
    unsigned lane_;
    std::shared_ptr<Shards> shards_;
    std::vector<bool> sent_to_;  // by shard: since the last advance()
    std::vector<std::unique_ptr<Twin>> twins_;
    std::vector<unsigned> place_at_;  // by port
    uint64_t clock_ = 0;              // ns of virtual time up to which every engine has run
    std::deque<Arrival> arrivals_;
    std::vector<Departure> departures_;  // of several engines, to be put in order
};

}  // namespace olaf
