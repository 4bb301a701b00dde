// Moves frames between ports and what is wired behind them, on native threads that sleep when nothing moves:
// lanes, each with a wiring of its own and its queue of every port that has several.
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "../../p4/native/switch_abi.h"
#include "../../ports/native/ports.h"
#include "packet_ins.h"
#include "turnstile.h"

namespace olaf {

constexpr uint64_t NEVER = UINT64_MAX;

// One device's compiled P4 program; none until a pipeline is pushed.
struct Switch {
    p4_process_fn process = nullptr;
    p4_switch *state = nullptr;

    explicit operator bool() const { return process != nullptr; }
};

// Frames that went nowhere, by reason.
struct Losses {
    uint64_t no_pipeline = 0;  // nothing pushed yet
    uint64_t misrouted = 0;    // sent to a port that does not exist
    uint64_t packet_ins = 0;   // its source sends too many, or the control plane does not keep up
};

// What sits between the ports, in one lane. Called with its turn held, never by two threads at once.
class Wiring {
  public:
    virtual ~Wiring() = default;
    virtual bool ready() const = 0;
    virtual void set_switch(unsigned device, Switch program) = 0;
    virtual void arrived(unsigned port, const uint8_t *frame, size_t length, uint64_t now) = 0;
    virtual void packet_out(unsigned device, const uint8_t *frame, size_t length, uint64_t now) = 0;

    // Let everything move that can; returns the ns after which to be called again, NEVER for not at all.
    virtual uint64_t advance(uint64_t now) = 0;

    // Whether another thread has left something for advance() since.
    virtual bool more() const { return false; }

    // Counts of a port that is not the engine's own; false when there is none.
    virtual bool stats(unsigned, PortStats &) const { return false; }

    Losses losses;
};

class Engine {
  public:
    explicit Engine(unsigned lanes = 1);
    ~Engine();
    Engine(const Engine &) = delete;
    Engine &operator=(const Engine &) = delete;

    unsigned lanes() const { return unsigned(lanes_.size()); }
    void wire(std::unique_ptr<Wiring> wiring, unsigned lane = 0);
    // One port, or its queues: lane n has the n-th, and those without share.
    void add_port(unsigned number, std::vector<std::unique_ptr<Port>> queues);
    void remove_port(unsigned number);  // what is at other ports passes meanwhile
    void start();
    void stop();

    // With all packet threads held out, on the wiring of the first lane; afterwards everything that can move
    // does.
    void act(const std::function<void(Wiring &)> &action);
    // Likewise on that of every lane.
    void act_on_all(const std::function<void(Wiring &, unsigned lane)> &action);
    // In one lane, with its own thread held out.
    void act_in(unsigned lane, const std::function<void(Wiring &)> &action);

    // While exclusive, ports are left alone and the wiring's clock stands still.
    void set_exclusive(bool exclusive);
    bool exclusive() const { return exclusive_; }

    // From the wiring of a lane, with its turn held. False when there is no such port.
    bool send(unsigned port, const uint8_t *frame, size_t length, unsigned lane = 0);
    // What was sent there is on its way when this returns.
    void flush(unsigned lane);
    // Wakes the thread of another lane if it sleeps: its wiring has more to do.
    void nudge(unsigned lane);
    // `source` as source_of() gives it, of the frame that came in; `now` is the wiring's time in ns.
    bool punt(unsigned device, Source source, const uint8_t *frame, size_t length, uint64_t now);

    bool stats(unsigned port, PortStats &stats);
    uint64_t processor_ns(unsigned lane);  // of its thread, while that runs
    uint64_t now() const;

    PacketIns packet_ins;

  private:
    struct Attached;
    struct Lane;
    class AllTurns;

    void run(Lane &lane);
    void wait(Lane &lane);
    void receive(Attached &attached);
    [[gnu::noinline]] bool send_in_turn(Lane &sender, Attached &attached, const uint8_t *frame,
                                        size_t length);
    void watch(Attached &attached);
    void watch_all();
    void settle(Lane &lane);
    void settle_all();

    std::vector<std::unique_ptr<Lane>> lanes_;
    std::map<unsigned, std::vector<std::unique_ptr<Attached>>> ports_;
    std::vector<std::unique_ptr<Attached>> removed_;  // without their ports: events may still name them
    std::atomic<bool> stopping_{false};
    std::atomic<bool> exclusive_{false};
    uint64_t began_;
};

}  // namespace olaf
