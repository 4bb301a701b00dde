#include "engine.h"

#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cstdio>

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

struct Engine::Attached final : Sink {
    Attached(Engine &engine, unsigned number, std::unique_ptr<Port> port)
        : engine(engine), number(number), port(std::move(port)) {}

    void frame(const uint8_t *frame, size_t length) override {
        engine.wiring_->arrived(number, frame, length, engine.arrived_);
    }

    Engine &engine;
    unsigned number;
    std::unique_ptr<Port> port;
    bool watched = false;
    bool unflushed = false;
};

Engine::Engine() : began_(monotonic()) {
    epoll_ = checked(epoll_create1(EPOLL_CLOEXEC), "epoll");
    wakeup_ = checked(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), "eventfd");
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = nullptr;
    checked(epoll_ctl(epoll_, EPOLL_CTL_ADD, wakeup_, &event), "epoll");
}

Engine::~Engine() {
    stop();
    ports_.clear();
    close(wakeup_);
    close(epoll_);
}

uint64_t Engine::now() const { return monotonic() - began_; }

void Engine::add_port(unsigned number, std::unique_ptr<Port> port) {
    Turnstile::Turn turn(turnstile_);
    auto attached = std::make_unique<Attached>(*this, number, std::move(port));
    if (wiring_->ready() || !attached->port->patient()) watch(*attached);
    ports_[number] = std::move(attached);
}

void Engine::watch(Attached &attached) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = &attached;
    checked(epoll_ctl(epoll_, EPOLL_CTL_ADD, attached.port->fd(), &event), "epoll");
    attached.watched = true;
}

void Engine::start() {
    thread_ = std::thread([this] { run(); });
}

void Engine::stop() {
    stopping_ = true;
    wake();
    if (thread_.joinable()) thread_.join();
    packet_ins.close();
}

void Engine::wake() {
    uint64_t one = 1;
    if (write(wakeup_, &one, sizeof one) < 0 && errno != EAGAIN) std::perror("olaf: eventfd");
}

void Engine::act(const std::function<void(Wiring &)> &action) {
    {
        Turnstile::Turn turn(turnstile_);
        action(*wiring_);
        for (auto &[number, attached] : ports_) {
            if (!attached->watched && wiring_->ready()) watch(*attached);
        }
        if (exclusive_) return;  // the packet thread sleeps until it is not
        settle();
    }
    // The packet thread may sleep longer than what this changed allows.
    wake();
}

void Engine::set_exclusive(bool exclusive) {
    Turnstile::Turn turn(turnstile_);
    exclusive_ = exclusive;
    if (!exclusive) settle();
    wake();
}

bool Engine::send(unsigned port, const uint8_t *frame, size_t length) {
    auto found = ports_.find(port);
    if (found == ports_.end()) return false;
    Attached &attached = *found->second;
    attached.port->send(frame, length);
    if (!attached.unflushed) unflushed_.push_back(&attached);
    attached.unflushed = true;
    return true;
}

bool Engine::punt(unsigned device, Source source, const uint8_t *frame, size_t length, uint64_t now) {
    return packet_ins.put(device, source, frame, length, now);
}

bool Engine::stats(unsigned port, PortStats &stats) {
    Turnstile::Turn turn(turnstile_);
    auto found = ports_.find(port);
    if (found == ports_.end()) return false;
    found->second->port->count_losses();
    stats = found->second->port->stats;
    return true;
}

uint64_t Engine::processor_ns() {
    clockid_t clock;
    timespec spent{};
    if (pthread_getcpuclockid(thread_.native_handle(), &clock) == 0) clock_gettime(clock, &spent);
    return uint64_t(spent.tv_sec) * NS_PER_S + uint64_t(spent.tv_nsec);
}

void Engine::settle() {
    wait_ = wiring_->advance(now());
    for (Attached *attached : unflushed_) {
        attached->port->flush();
        attached->unflushed = false;
    }
    unflushed_.clear();
}

void Engine::receive(Attached &attached) {
    arrived_ = now();
    try {
        attached.port->receive(attached);
        if (!attached.port->broken) return;
        std::fprintf(stderr, "port %u: the interface is gone\n", attached.number);
    } catch (const std::exception &failure) {
        std::fprintf(stderr, "port %u: %s\n", attached.number, failure.what());
    }
    epoll_ctl(epoll_, EPOLL_CTL_DEL, attached.port->fd(), nullptr);
}

void Engine::drain_wakeups() {
    uint64_t seen;
    while (read(wakeup_, &seen, sizeof seen) > 0) {}
}

void Engine::run() {
    std::array<epoll_event, EVENTS> events;
    while (!stopping_) {
        if (exclusive_) {
            pollfd wanted{wakeup_, POLLIN, 0};
            poll(&wanted, 1, -1);
            drain_wakeups();
            continue;
        }
        uint64_t wait = wait_;
        timespec timeout{};
        if (wait >= SHORT_NS) {
            timeout.tv_sec = time_t(wait / NS_PER_S);
            timeout.tv_nsec = long(wait % NS_PER_S);
        }
        int count = epoll_pwait2(epoll_, events.data(), EVENTS, wait == NEVER ? nullptr : &timeout, nullptr);
        Turnstile::Turn turn(turnstile_);
        if (exclusive_) continue;
        for (int i = 0; i < count; i++) {
            if (auto *attached = static_cast<Attached *>(events[size_t(i)].data.ptr)) {
                receive(*attached);
            } else {
                drain_wakeups();
            }
        }
        settle();
    }
}

}  // namespace olaf
