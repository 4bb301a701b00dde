// A network interface by AF_PACKET: batches of frames a system call, bytes as they were sent.
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <utility>
#include <vector>

#include "descriptor.h"
#include "failure.h"
#include "patience.h"
#include "ports.h"

namespace olaf {
namespace {

// The head of virtio_net_hdr; linux/virtio_net.h itself is not valid C++.
struct OffloadHeader {
    uint8_t flags, gso_type;
    uint16_t header_length, gso_size, csum_start, csum_offset;
};
constexpr uint8_t NEEDS_CHECKSUM = 1;
constexpr uint8_t NOT_SEGMENTED = 0;

constexpr size_t VLAN_TAG = 4;
constexpr size_t MAC_PAIR = 12;
constexpr int SEND_TIMEOUT_MS = 10;
constexpr int ALONE = -1, FIRST = -2;  // or the number of those with which a queue shares the flows

// A sending host may leave the checksum to "hardware"; between two ends of a veth that is us.
bool complete_checksum(uint8_t *frame, size_t length, const OffloadHeader &header) {
    size_t start = header.csum_start;
    size_t place = start + header.csum_offset;
    if (place + 2 > length) return false;
    uint32_t sum = 0;
    for (size_t i = start; i + 1 < length; i += 2) sum += uint32_t(frame[i]) << 8 | frame[i + 1];
    if ((length - start) % 2) sum += uint32_t(frame[length - 1]) << 8;
    while (sum >> 16) sum = (sum & 0xFFFF) + (sum >> 16);
    uint16_t checksum = uint16_t(~sum);
    if (checksum == 0) checksum = 0xFFFF;  // zero would mean "none" in UDP, and is equal to this elsewhere
    frame[place] = uint8_t(checksum >> 8);
    frame[place + 1] = uint8_t(checksum);
    return true;
}

class InterfacePort final : public Port {
  public:
    InterfacePort(const std::string &name, int fanout) : name_(name), rx_(BATCH), tx_(BATCH) {
        unsigned index = if_nametoindex(name.c_str());
        if (index == 0) fail("interface " + name);
        configure();
        sockaddr_ll address{};
        address.sll_family = AF_PACKET;
        address.sll_protocol = htons(ETH_P_ALL);
        address.sll_ifindex = int(index);
        checked(bind(fd(), reinterpret_cast<sockaddr *>(&address), sizeof address), "binding to " + name);
        packet_mreq all{int(index), PACKET_MR_PROMISC, 0, {}};
        option(SOL_PACKET, PACKET_ADD_MEMBERSHIP, all);
        if (fanout != ALONE) share_flows(fanout);
        prepare();
    }

    int fd() const override { return socket_.fd(); }

    // What the other queues of the interface are opened with.
    int fanout() const {
        int found = 0;
        socklen_t size = sizeof found;
        checked(getsockopt(fd(), SOL_PACKET, PACKET_FANOUT, &found, &size), "sharing " + name_);
        return found & 0xFFFF;
    }

    void receive(Sink &sink) override {
        for (auto &slot : rx_) {
            slot.message.msg_hdr.msg_controllen = sizeof slot.control;
            rx_messages_[size_t(&slot - rx_.data())] = slot.message;
        }
        int count = recvmmsg(fd(), rx_messages_.data(), BATCH, MSG_DONTWAIT, nullptr);
        for (int i = 0; i < count; i++) take(sink, rx_[size_t(i)], rx_messages_[size_t(i)]);
    }

    void send(const uint8_t *frame, size_t length) override {
        if (length > MAX_FRAME || length < ETHER_HDR_LEN) {
            stats.tx_dropped++;
            return;
        }
        Slot &slot = tx_[queued_];
        std::memcpy(slot.bytes.data(), frame, length);
        slot.parts[1].iov_len = length;
        tx_messages_[queued_] = slot.message;
        if (++queued_ == BATCH) flush();
    }

    void flush() override {
        size_t next = 0;
        bool told_down = false;  // the first time it may be of a link that is up again
        while (next < queued_) {
            int sent = sendmmsg(fd(), &tx_messages_[next], unsigned(queued_ - next), 0);
            if (sent > 0) {
                patience_.taken(sent);
                for (size_t end = next + size_t(sent); next < end; next++) {
                    stats.tx_frames++;
                    stats.tx_bytes += tx_[next].parts[1].iov_len;
                }
            } else if ((errno == EAGAIN && can_send_soon()) || (errno == ENOBUFS && patience_.wait()) ||
                       (errno == ENETDOWN && !std::exchange(told_down, true))) {
                continue;
            } else {
                stats.tx_dropped++;
                next++;
            }
        }
        queued_ = 0;
    }

    void count_losses() override {
        tpacket_stats lost;
        socklen_t size = sizeof lost;
        if (getsockopt(fd(), SOL_PACKET, PACKET_STATISTICS, &lost, &size) == 0)
            stats.rx_dropped += lost.tp_drops;
    }

  private:
    struct Slot {
        Slot() {}  // user-provided, so that memory no frame ever needs is not touched

        OffloadHeader header{};
        std::array<uint8_t, VLAN_TAG + MAX_FRAME> bytes;
        std::array<iovec, 2> parts{};
        alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(tpacket_auxdata))> control{};
        mmsghdr message{};
    };

    template <typename Value> void option(int level, int which, const Value &value) {
        checked(setsockopt(fd(), level, which, &value, sizeof value),
                "configuring the packet socket on " + name_);
    }

    void configure() {
        option(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1);
        option(SOL_PACKET, PACKET_AUXDATA, 1);
        option(SOL_PACKET, PACKET_VNET_HDR, 1);
        int size = 32 << 20;
        if (setsockopt(fd(), SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size) < 0)
            option(SOL_SOCKET, SO_RCVBUF, size);
        if (setsockopt(fd(), SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size) < 0)
            option(SOL_SOCKET, SO_SNDBUF, size);
    }

    void share_flows(int fanout) {
        const bool first = fanout == FIRST;
        const int kind = PACKET_FANOUT_HASH | (first ? PACKET_FANOUT_FLAG_UNIQUEID : 0);
        const int wanted = (first ? 0 : fanout) | kind << 16;
        option(SOL_PACKET, PACKET_FANOUT, wanted);
    }

    void prepare() {
        for (auto *slots : {&rx_, &tx_}) {
            for (Slot &slot : *slots) {
                bool receiving = slots == &rx_;
                slot.parts[0] = {&slot.header, sizeof slot.header};
                slot.parts[1] = {slot.bytes.data() + (receiving ? VLAN_TAG : 0), MAX_FRAME};
                slot.message.msg_hdr.msg_iov = slot.parts.data();
                slot.message.msg_hdr.msg_iovlen = slot.parts.size();
                slot.message.msg_hdr.msg_control = receiving ? slot.control.data() : nullptr;
            }
        }
    }

    void take(Sink &sink, Slot &slot, const mmsghdr &message) {
        uint8_t *frame = slot.bytes.data() + VLAN_TAG;
        size_t length = message.msg_len - sizeof slot.header;
        bool whole = message.msg_len >= sizeof slot.header + ETHER_HDR_LEN &&
                     !(message.msg_hdr.msg_flags & MSG_TRUNC) && slot.header.gso_type == NOT_SEGMENTED;
        if (whole && slot.header.flags & NEEDS_CHECKSUM)
            whole = complete_checksum(frame, length, slot.header);
        if (!whole) {
            stats.rx_dropped++;
            return;
        }
        if (restore_tag(frame, message.msg_hdr)) {
            frame -= VLAN_TAG;
            length += VLAN_TAG;
        }
        received(sink, frame, length);
    }

    // The kernel takes a VLAN tag out of the bytes and reports it separately.
    static bool restore_tag(uint8_t *frame, const msghdr &message) {
        for (auto *item = CMSG_FIRSTHDR(&message); item;
             item = CMSG_NXTHDR(const_cast<msghdr *>(&message), item)) {
            if (item->cmsg_level != SOL_PACKET || item->cmsg_type != PACKET_AUXDATA) continue;
            tpacket_auxdata auxiliary;
            std::memcpy(&auxiliary, CMSG_DATA(item), sizeof auxiliary);
            if (!(auxiliary.tp_status & TP_STATUS_VLAN_VALID)) continue;
            uint16_t tpid =
                auxiliary.tp_status & TP_STATUS_VLAN_TPID_VALID ? auxiliary.tp_vlan_tpid : ETH_P_8021Q;
            std::memmove(frame - VLAN_TAG, frame, MAC_PAIR);
            uint8_t *tag = frame - VLAN_TAG + MAC_PAIR;
            tag[0] = uint8_t(tpid >> 8);
            tag[1] = uint8_t(tpid);
            tag[2] = uint8_t(auxiliary.tp_vlan_tci >> 8);
            tag[3] = uint8_t(auxiliary.tp_vlan_tci);
            return true;
        }
        return false;
    }

    bool can_send_soon() const {
        pollfd wanted{fd(), POLLOUT, 0};
        return poll(&wanted, 1, SEND_TIMEOUT_MS) > 0 && wanted.revents & POLLOUT;
    }

    std::string name_;
    Descriptor socket_{checked(socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
                               "a packet socket on " + name_)};
    std::vector<Slot> rx_, tx_;
    std::array<mmsghdr, BATCH> rx_messages_{}, tx_messages_{};
    size_t queued_ = 0;
    Patience patience_;
};

}  // namespace

Queues open_interface(const std::string &name, unsigned queues) {
    Queues made;
    auto first = std::make_unique<InterfacePort>(name, queues == 1 ? ALONE : FIRST);
    const int fanout = queues == 1 ? ALONE : first->fanout();
    made.push_back(std::move(first));
    while (made.size() < queues) made.push_back(std::make_unique<InterfacePort>(name, fanout));
    return made;
}

}  // namespace olaf
