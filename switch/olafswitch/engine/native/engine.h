// Moves frames between ports and what is wired behind them, on one native thread that sleeps when
// nothing moves.
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

// What sits between the ports. Called with the turn held, never by two threads at once.
class Wiring {
  public:
    virtual ~Wiring() = default;
    virtual bool ready() const = 0;
    virtual void set_switch(unsigned device, Switch program) = 0;
    virtual void arrived(unsigned port, const uint8_t *frame, size_t length, uint64_t now) = 0;
    virtual void packet_out(unsigned device, const uint8_t *frame, size_t length, uint64_t now) = 0;

    // Let everything move that can; returns the ns after which to be called again, NEVER for not at all.
    virtual uint64_t advance(uint64_t now) = 0;

    // Counts of a port that is not the engine's own; false when there is none.
    virtual bool stats(unsigned, PortStats &) const { return false; }

    Losses losses;
};

class Engine {
  public:
    Engine();
    ~Engine();
    Engine(const Engine &) = delete;
    Engine &operator=(const Engine &) = delete;

    void wire(std::unique_ptr<Wiring> wiring) { wiring_ = std::move(wiring); }
    void add_port(unsigned number, std::unique_ptr<Port> port);
    void start();
    void stop();

    // With the packet thread held out; afterwards everything that can move does.
    void act(const std::function<void(Wiring &)> &action);

    // While exclusive, ports are left alone and the wiring's clock stands still.
    void set_exclusive(bool exclusive);
    bool exclusive() const { return exclusive_; }

    // From the wiring, with the turn held. False when there is no such port.
    bool send(unsigned port, const uint8_t *frame, size_t length);
    // `source` as source_of() gives it, of the frame that came in; `now` is the wiring's time in ns.
    bool punt(unsigned device, Source source, const uint8_t *frame, size_t length, uint64_t now);

    bool stats(unsigned port, PortStats &stats);
    uint64_t processor_ns();  // of its thread, while that runs
    uint64_t now() const;

    PacketIns packet_ins;

  private:
    struct Attached;

    void run();
    void receive(Attached &attached);
    void watch(Attached &attached);
    void settle();
    void wake();
    void drain_wakeups();

    std::unique_ptr<Wiring> wiring_;
    std::map<unsigned, std::unique_ptr<Attached>> ports_;
    Turnstile turnstile_;
    std::thread thread_;
    std::atomic<bool> stopping_{false};
    std::atomic<bool> exclusive_{false};
    std::atomic<uint64_t> wait_{NEVER};
    std::vector<Attached *> unflushed_;
    uint64_t began_;
    uint64_t arrived_ = 0;  // when the port whose turn it is was looked at
    int epoll_, wakeup_;
};

}  // namespace olaf
