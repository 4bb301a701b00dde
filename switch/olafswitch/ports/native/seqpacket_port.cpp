// A UNIX SOCK_SEQPACKET socket: one message a frame. Every host that connects is on the same segment:
// what the port sends reaches each of them. A sender is held back, not dropped, when the port is behind.
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <vector>

#include "descriptor.h"
#include "failure.h"
#include "ports.h"

namespace olaf {
namespace {

constexpr int EVENTS = 16;

void widen(int fd) {
    int size = 8 << 20;
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size) < 0)
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
}

class SeqpacketPort final : public Port {
  public:
    explicit SeqpacketPort(int listening) : listening_(listening) {
        checked(fcntl(listening_.fd(), F_SETFL, fcntl(listening_.fd(), F_GETFL) | O_NONBLOCK),
                "a listening socket");
        watch(listening_.fd());
    }

    ~SeqpacketPort() override {
        for (int host : hosts_) close(host);
    }

    int fd() const override { return epoll_.fd(); }

    void receive(Sink &sink) override {
        std::array<epoll_event, EVENTS> events;
        int count = epoll_wait(fd(), events.data(), EVENTS, 0);
        for (int i = 0; i < count; i++) {
            int fd = events[size_t(i)].data.fd;
            if (fd == listening_.fd()) {
                admit();
            } else {
                drain(fd, sink);
            }
        }
    }

    void send(const uint8_t *frame, size_t length) override {
        // A host that connected before this frame came in is to get it.
        if (!admitted_) admit();
        admitted_ = true;
        bool reached = false;
        for (int host : hosts_) {
            if (::send(host, frame, length, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) reached = true;
        }
        if (!reached) {
            stats.tx_dropped++;
            return;
        }
        stats.tx_frames++;
        stats.tx_bytes += length;
    }

    void flush() override { admitted_ = false; }

  private:
    void watch(int fd) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.fd = fd;
        checked(epoll_ctl(epoll_.fd(), EPOLL_CTL_ADD, fd, &event), "epoll");
    }

    void admit() {
        for (int host;
             (host = accept4(listening_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
            widen(host);
            watch(host);
            hosts_.push_back(host);
        }
    }

    void drain(int host, Sink &sink) {
        for (size_t i = 0; i < BATCH; i++) {
            ssize_t length = recv(host, frame_.data(), frame_.size(), MSG_DONTWAIT | MSG_TRUNC);
            if (length < 0 && (errno == EAGAIN || errno == EINTR)) return;
            // A host that left frames unread: what it sent before comes after this.
            if (length < 0 && errno == ECONNRESET) continue;
            if (length < 0 || (length == 0 && gone(host))) return dismiss(host);
            if (length == 0 || size_t(length) > frame_.size()) {
                stats.rx_dropped++;
            } else {
                received(sink, frame_.data(), size_t(length));
            }
        }
    }

    // An empty frame reads like the end of the connection.
    static bool gone(int host) {
        pollfd ended{host, POLLRDHUP, 0};
        int waiting = 0;
        return poll(&ended, 1, 0) > 0 && (ioctl(host, FIONREAD, &waiting) < 0 || waiting == 0);
    }

    // A process being forked may hold the socket a little longer, and epoll tells of it as long as anyone
    // does.
    void dismiss(int host) {
        epoll_ctl(epoll_.fd(), EPOLL_CTL_DEL, host, nullptr);
        hosts_.erase(std::find(hosts_.begin(), hosts_.end(), host));
        close(host);
    }

    Descriptor listening_;
    Descriptor epoll_{checked(epoll_create1(EPOLL_CLOEXEC), "epoll")};
    bool admitted_ = false;
    std::vector<int> hosts_;
    std::array<uint8_t, MAX_FRAME> frame_;
};

}  // namespace

std::unique_ptr<Port> open_seqpacket(int listening) { return std::make_unique<SeqpacketPort>(listening); }

}  // namespace olaf
