#include "engine.h"

#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <mutex>
#include <string>

#include "../../ports/native/failure.h"

namespace olaf {
namespace {

constexpr int EVENTS = 64;
constexpr uint64_t NS_PER_S = 1000000000;
constexpr uint64_t SHORT_NS = 10000;  // a sleep would take longer

uint64_t monotonic() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return uint64_t(now.tv_sec) * 1000000000 + uint64_t(now.tv_nsec);
}

}  // namespace

struct Engine::Lane {
    Lane(Engine &engine, unsigned number) : engine(engine), number(number) {
        epoll = checked(epoll_create1(EPOLL_CLOEXEC), "epoll");
        wakeup = checked(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), "eventfd");
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.ptr = nullptr;
        checked(epoll_ctl(epoll, EPOLL_CTL_ADD, wakeup, &event), "epoll");
    }
    ~Lane() {
        close(wakeup);
        close(epoll);
    }

    void wake() {
        uint64_t one = 1;
        if (write(wakeup, &one, sizeof one) < 0 && errno != EAGAIN) std::perror("olaf: eventfd");
    }

    void drain_wakeups() {
        uint64_t seen;
        while (read(wakeup, &seen, sizeof seen) > 0) {}
    }

    Engine &engine;
    const unsigned number;
    std::unique_ptr<Wiring> wiring;
    Turnstile turnstile;
    std::thread thread;
    std::atomic<uint64_t> wait{NEVER};
    std::atomic<bool> asleep{false};    // or about to be
    std::vector<Attached *> ports;      // by number: the queue by which it sends
    std::vector<Attached *> unflushed;  // of these, by which it sent
    uint64_t arrived = 0;               // when the port whose turn it is was looked at
    std::array<epoll_event, EVENTS> events;
    int happened = 0;  // of these
    int epoll, wakeup;
};

struct Engine::Attached final : Sink {
    Attached(Lane &lane, unsigned number, std::unique_ptr<Port> port, bool shared)
        : lane(lane), number(number), port(std::move(port)), shared(shared) {}

    void frame(const uint8_t *frame, size_t length) override {
        lane.wiring->arrived(number, frame, length, lane.arrived);
    }

    // Held by a lane at a port that others use, too.
    std::unique_lock<std::mutex> turn() {
        return shared ? std::unique_lock(use) : std::unique_lock<std::mutex>();
    }

    Lane &lane;  // that receives
    const unsigned number;
    std::unique_ptr<Port> port;  // none of one that was removed
    const bool shared;
    std::mutex use;
    bool watched = false;
    bool unflushed = false;  // since its lane sent by it, of a port that is not shared
};

// All lanes' turns, in their order.
class Engine::AllTurns {
  public:
    explicit AllTurns(Engine &engine) {
        turns_.reserve(engine.lanes_.size());
        for (auto &lane : engine.lanes_) turns_.emplace_back(lane->turnstile);
    }

  private:
    std::vector<Turnstile::Turn> turns_;
};

Engine::Engine(unsigned lanes) : began_(monotonic()) {
    for (unsigned lane = 0; lane < lanes; lane++) lanes_.push_back(std::make_unique<Lane>(*this, lane));
}

Engine::~Engine() {
    stop();
    ports_.clear();
}

uint64_t Engine::now() const { return monotonic() - began_; }

void Engine::wire(std::unique_ptr<Wiring> wiring, unsigned lane) {
    lanes_.at(lane)->wiring = std::move(wiring);
}

void Engine::add_port(unsigned number, std::vector<std::unique_ptr<Port>> queues) {
    AllTurns turns(*this);
    auto &attached = ports_[number];
    const bool shared = queues.size() < lanes_.size();
    for (auto &queue : queues)
        attached.push_back(
            std::make_unique<Attached>(*lanes_.at(attached.size()), number, std::move(queue), shared));
    for (auto &lane : lanes_) {
        lane->ports.resize(std::max(lane->ports.size(), size_t(number) + 1));
        lane->ports[number] = attached[lane->number % attached.size()].get();
    }
    watch_all();
}

void Engine::remove_port(unsigned number) {
    std::vector<std::unique_ptr<Port>> closing;  // takes long, and needs no turn
    AllTurns turns(*this);
    auto found = ports_.find(number);
    if (found == ports_.end()) return;
    for (auto &lane : lanes_) {
        flush(lane->number);
        lane->ports[number] = nullptr;
    }
    for (auto &attached : found->second) {
        epoll_ctl(attached->lane.epoll, EPOLL_CTL_DEL, attached->port->fd(), nullptr);
        closing.push_back(std::move(attached->port));
        removed_.push_back(std::move(attached));
    }
    ports_.erase(found);
}

void Engine::watch(Attached &attached) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = &attached;
    checked(epoll_ctl(attached.lane.epoll, EPOLL_CTL_ADD, attached.port->fd(), &event), "epoll");
    attached.watched = true;
}

void Engine::watch_all() {
    for (auto &[number, queues] : ports_) {
        for (auto &attached : queues) {
            if (attached->watched) continue;
            if (attached->lane.wiring->ready() || !attached->port->patient()) watch(*attached);
        }
    }
}

void Engine::start() {
    for (auto &lane : lanes_) {
        lane->thread = std::thread([this, &lane = *lane] { run(lane); });
        pthread_setname_np(lane->thread.native_handle(), ("lane " + std::to_string(lane->number)).c_str());
    }
}

void Engine::stop() {
    stopping_ = true;
    for (auto &lane : lanes_) lane->wake();
    for (auto &lane : lanes_)
        if (lane->thread.joinable()) lane->thread.join();
    packet_ins.close();
}

void Engine::act(const std::function<void(Wiring &)> &action) {
    act_on_all([&](Wiring &wiring, unsigned lane) {
        if (lane == 0) action(wiring);
    });
}

void Engine::act_on_all(const std::function<void(Wiring &, unsigned)> &action) {
    {
        AllTurns turns(*this);
        for (auto &lane : lanes_) action(*lane->wiring, lane->number);
        watch_all();
        if (exclusive_) return;  // the packet threads sleep until it is not
        settle_all();
    }
    // A packet thread may sleep longer than what this changed allows.
    for (auto &lane : lanes_) lane->wake();
}

void Engine::act_in(unsigned lane, const std::function<void(Wiring &)> &action) {
    Turnstile::Turn turn(lanes_.at(lane)->turnstile);
    action(*lanes_[lane]->wiring);
    settle(*lanes_[lane]);
}

void Engine::set_exclusive(bool exclusive) {
    AllTurns turns(*this);
    exclusive_ = exclusive;
    if (!exclusive) settle_all();
    for (auto &lane : lanes_) lane->wake();
}

bool Engine::send(unsigned port, const uint8_t *frame, size_t length, unsigned lane) {
    Lane &sender = *lanes_[lane];
    Attached *attached = port < sender.ports.size() ? sender.ports[port] : nullptr;
    if (attached == nullptr) return false;
    if (attached->shared) return send_in_turn(sender, *attached, frame, length);
    const bool first = !std::exchange(attached->unflushed, true);
    if (first) sender.unflushed.push_back(attached);
    attached->port->send(frame, length);
    return true;
}

bool Engine::send_in_turn(Lane &sender, Attached &attached, const uint8_t *frame, size_t length) {
    auto turn = attached.turn();
    attached.port->send(frame, length);
    auto &unflushed = sender.unflushed;
    if (std::find(unflushed.begin(), unflushed.end(), &attached) == unflushed.end())
        unflushed.push_back(&attached);
    return true;
}

void Engine::flush(unsigned lane) {
    for (Attached *attached : lanes_[lane]->unflushed) {
        auto turn = attached->turn();
        attached->port->flush();
        if (!attached->shared) attached->unflushed = false;
    }
    lanes_[lane]->unflushed.clear();
}

void Engine::nudge(unsigned lane) {
    if (lanes_[lane]->asleep.exchange(false)) lanes_[lane]->wake();
}

bool Engine::punt(unsigned device, Source source, const uint8_t *frame, size_t length, uint64_t now) {
    return packet_ins.put(device, source, frame, length, now);
}

bool Engine::stats(unsigned port, PortStats &stats) {
    AllTurns turns(*this);
    auto found = ports_.find(port);
    if (found == ports_.end()) return false;
    stats = {};
    for (auto &attached : found->second) {
        attached->port->count_losses();
        stats += attached->port->stats;
    }
    return true;
}

uint64_t Engine::processor_ns(unsigned lane) {
    clockid_t clock;
    timespec spent{};
    if (pthread_getcpuclockid(lanes_.at(lane)->thread.native_handle(), &clock) == 0)
        clock_gettime(clock, &spent);
    return uint64_t(spent.tv_sec) * NS_PER_S + uint64_t(spent.tv_nsec);
}

void Engine::settle(Lane &lane) {
    lane.wait = lane.wiring->advance(now());
    flush(lane.number);
}

void Engine::settle_all() {
    for (auto &lane : lanes_) settle(*lane);
}

void Engine::receive(Attached &attached) {
    if (!attached.port) return;
    attached.lane.arrived = now();
    try {
        auto turn = attached.turn();
        attached.port->receive(attached);
        if (!attached.port->broken) return;
        std::fprintf(stderr, "port %u: the interface is gone\n", attached.number);
    } catch (const std::exception &failure) {
        std::fprintf(stderr, "port %u: %s\n", attached.number, failure.what());
    }
    epoll_ctl(attached.lane.epoll, EPOLL_CTL_DEL, attached.port->fd(), nullptr);
}

void Engine::wait(Lane &lane) {
    uint64_t wait = lane.wait;
    const bool alone = lanes_.size() == 1;
    if (!alone) {
        // Either this one sees what another has left, or that one sees that this is asleep.
        lane.asleep.exchange(true);
        if (lane.wiring->more()) wait = 0;
    }
    timespec timeout{};
    if (wait >= SHORT_NS) {
        timeout.tv_sec = time_t(wait / NS_PER_S);
        timeout.tv_nsec = long(wait % NS_PER_S);
    }
    lane.happened =
        epoll_pwait2(lane.epoll, lane.events.data(), EVENTS, wait == NEVER ? nullptr : &timeout, nullptr);
    if (!alone) lane.asleep = false;
}

void Engine::run(Lane &lane) {
    while (!stopping_) {
        if (exclusive_) {
            pollfd wanted{lane.wakeup, POLLIN, 0};
            poll(&wanted, 1, -1);
            lane.drain_wakeups();
            continue;
        }
        wait(lane);
        Turnstile::Turn turn(lane.turnstile);
        if (exclusive_) continue;
        for (int i = 0; i < lane.happened; i++) {
            if (auto *attached = static_cast<Attached *>(lane.events[size_t(i)].data.ptr)) {
                receive(*attached);
            } else {
                lane.drain_wakeups();
            }
        }
        settle(lane);
    }
}

}  // namespace olaf
