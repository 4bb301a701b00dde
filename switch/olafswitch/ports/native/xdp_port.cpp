// An interface by AF_XDP: frames are read where the kernel put them, and one system call sends many.
#include <linux/if_packet.h>
#include <linux/if_xdp.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <vector>

#include "descriptor.h"
#include "failure.h"
#include "patience.h"
#include "ports.h"
#include "xdp_redirect.h"
#include "xdp_socket.h"

namespace olaf {
namespace {

constexpr uint32_t CHUNK = XdpMemory::CHUNK;
constexpr uint32_t CONTINUED = 1;  // XDP_PKT_CONTD: the frame goes on in the next chunk

using Sockets = std::vector<std::unique_ptr<XdpSocket>>;

// What all ports of one interface have in common, for as long as one of them lives.
class XdpInterface {
  public:
    // `sockets` by queue.
    XdpInterface(const std::string &name, const std::vector<int> &sockets, bool nic)
        : redirect_(name, sockets, nic) {
        if (!nic) return;
        // Frames to any address.
        packet_mreq all{int(if_nametoindex(name.c_str())), PACKET_MR_PROMISC, 0, {}};
        checked(setsockopt(promiscuous_.fd(), SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof all),
                "hearing everything at " + name);
    }

  private:
    XdpRedirect redirect_;
    Descriptor promiscuous_{checked(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), "a packet socket")};
};

class XdpPort final : public Port {
  public:
    // At these queues of an interface; by the first of them, `queue`, it sends.
    XdpPort(const std::string &name, Sockets sockets, uint32_t queue, std::shared_ptr<XdpInterface> interface)
        : sockets_(std::move(sockets)), sender_(name, queue, socket_), interface_(std::move(interface)) {
        for (const auto &each : sockets_) {
            epoll_event event{};
            event.events = EPOLLIN;
            checked(epoll_ctl(all_.fd(), EPOLL_CTL_ADD, each->fd(), &event), "epoll");
        }
        for (uint64_t chunk = 0; chunk < XdpMemory::SENT; chunk++)
            free_.push_back((XdpMemory::RECEIVED + chunk) * CHUNK);
    }

    int fd() const override { return sockets_.size() == 1 ? socket_.fd() : all_.fd(); }

    void receive(Sink &sink) override {
        for (const auto &each : sockets_) receive(sink, *each);
    }

    void send(const uint8_t *frame, size_t length) override {
        size_t parts = (length + CHUNK - 1) / CHUNK;
        if (length > MAX_FRAME || length < ETHER_HDR_LEN || !has_free(parts)) {
            stats.tx_dropped++;
            return;
        }
        for (size_t at = 0; at < length; at += CHUNK) {
            uint64_t address = free_.back();
            free_.pop_back();
            size_t size = std::min<size_t>(CHUNK, length - at);
            std::memcpy(socket_.memory.at(address), frame + at, size);
            lengths_[queued_ % XdpMemory::SENT] = length;
            sender_.to_send.at(queued_++) = {address, uint32_t(size), at + size < length ? CONTINUED : 0};
        }
        stats.tx_frames++;
        stats.tx_bytes += length;
    }

    // What the kernel does not take in time stays in the ring and leaves with what is sent next.
    void flush() override {
        sender_.to_send.produce_to(queued_);
        for (uint32_t at = sender_.to_send.consumed(); at != queued_;) {
            bool refused = sendto(sender_.fd(), nullptr, 0, MSG_DONTWAIT, nullptr, 0) < 0;
            uint32_t before = at;
            at = sender_.to_send.consumed();
            // Taken, and then lost on the way to the other side: always the last one taken.
            if (refused && errno == EBUSY && at != before) lost(at - 1);
            patience_.taken(int(at - before));
            if (at == before && !(refused && may_be_taken_soon() && patience_.wait())) break;
        }
        reap();
    }

    void count_losses() override {
        uint64_t dropped = 0;
        for (const auto &each : sockets_) {
            xdp_statistics lost{};
            socklen_t size = sizeof lost;
            if (getsockopt(each->fd(), SOL_XDP, XDP_STATISTICS, &lost, &size) < 0) return;
            dropped += lost.rx_dropped + lost.rx_ring_full;
        }
        stats.rx_dropped += dropped - lost_before_;
        lost_before_ = dropped;
    }

  private:
    void receive(Sink &sink, XdpSocket &socket) {
        uint32_t next = socket.received.consumed();
        uint32_t end = socket.received.produced();
        uint32_t filled = socket.to_fill.produced();
        for (size_t frames = 0; frames < BATCH && next != end; frames++) {
            uint32_t begin = next;
            while (socket.received.at(next++).options & CONTINUED) continue;
            take(sink, socket, begin, next);
            for (uint32_t part = begin; part != next; part++)
                socket.to_fill.at(filled++) = socket.received.at(part).addr / CHUNK * CHUNK;
        }
        socket.received.consume_to(next);
        socket.to_fill.produce_to(filled);
    }

    void take(Sink &sink, XdpSocket &socket, uint32_t begin, uint32_t end) {
        const xdp_desc &first = socket.received.at(begin);
        if (end - begin == 1) return received(sink, socket.memory.at(first.addr), first.len);
        size_t length = 0;
        for (uint32_t part = begin; part != end; part++) {
            const xdp_desc &piece = socket.received.at(part);
            if (length + piece.len > MAX_FRAME) {
                stats.rx_dropped++;
                return;
            }
            std::memcpy(whole_.data() + length, socket.memory.at(piece.addr), piece.len);
            length += piece.len;
        }
        received(sink, whole_.data(), length);
    }

    // A chunk is free again when the host's side has received what is in it.
    bool has_free(size_t parts) {
        if (free_.size() < parts) flush();
        while (free_.size() < parts && patience_.wait()) flush();
        return free_.size() >= parts;
    }

    void reap() {
        uint32_t next = socket_.completed.consumed();
        for (uint32_t end = socket_.completed.produced(); next != end; next++)
            free_.push_back(socket_.completed.at(next) / CHUNK * CHUNK);
        socket_.completed.consume_to(next);
    }

    void lost(uint32_t at) {
        stats.tx_frames--;
        stats.tx_bytes -= lengths_[at % XdpMemory::SENT];
        stats.tx_dropped++;
    }

    static bool may_be_taken_soon() { return errno == EAGAIN || errno == EBUSY || errno == ENOBUFS; }

    Sockets sockets_;                       // one at each queue
    XdpSocket &socket_{*sockets_.front()};  // at its queue all is sent, so that frames keep their order
    XdpSender sender_;
    Descriptor all_{checked(epoll_create1(EPOLL_CLOEXEC), "epoll")};
    std::shared_ptr<XdpInterface> interface_;
    std::vector<uint64_t> free_;                     // chunks that hold nothing to send
    uint32_t queued_ = 0;                            // up to here the ring to send is written
    std::array<size_t, XdpMemory::SENT> lengths_{};  // of the frame that a place in that ring belongs to
    std::array<uint8_t, MAX_FRAME> whole_;           // a frame of several chunks
    uint64_t lost_before_ = 0;
    Patience patience_;
};

// Of an interface in this process's network namespace.
uint32_t queues_of(const std::string &name) {
    uint32_t found = 0;
    for (const auto &entry : std::filesystem::directory_iterator("/sys/class/net/" + name + "/queues"))
        found += entry.path().filename().string().starts_with("rx-");
    return found;
}

Queues open_all(const std::string &name, bool nic, unsigned ports) {
    const uint32_t queues = queues_of(name);
    ports = std::min(ports, queues);
    std::vector<Sockets> dealt(ports);
    std::vector<int> descriptors;
    for (uint32_t queue = 0; queue < queues; queue++) {
        auto &made = dealt[queue % ports].emplace_back(std::make_unique<XdpSocket>(name, queue, !nic));
        descriptors.push_back(made->fd());
    }
    Queues opened;
    auto interface = std::make_shared<XdpInterface>(name, descriptors, nic);
    for (uint32_t port = 0; port < ports; port++)
        opened.push_back(std::make_unique<XdpPort>(name, std::move(dealt[port]), port, interface));
    return opened;
}

}  // namespace

Queues open_own_interface(const std::string &name, std::string &instead, bool nic, unsigned queues) {
    try {
        return open_all(name, nic, queues);
    } catch (const std::exception &failure) {
        instead = failure.what();
        return open_interface(name, queues);
    }
}

}  // namespace olaf
