// Front ports for native code: frames in and out of an interface, a UNIX socket, or pcap files.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace olaf {

constexpr size_t MAX_FRAME = 16384;
constexpr size_t BATCH = 64;

struct PortStats {
    uint64_t rx_frames = 0;
    uint64_t rx_bytes = 0;
    uint64_t rx_dropped = 0;  // empty, too long, or more than the kernel's buffer holds
    uint64_t tx_frames = 0;
    uint64_t tx_bytes = 0;
    uint64_t tx_dropped = 0;  // no host there, or the other side does not keep up

    PortStats &operator+=(const PortStats &other) {
        rx_frames += other.rx_frames;
        rx_bytes += other.rx_bytes;
        rx_dropped += other.rx_dropped;
        tx_frames += other.tx_frames;
        tx_bytes += other.tx_bytes;
        tx_dropped += other.tx_dropped;
        return *this;
    }
};

// Takes the frames that a port received; `frame` is valid during the call.
class Sink {
  public:
    virtual ~Sink() = default;
    virtual void frame(const uint8_t *frame, size_t length) = 0;
};

class Port {
  public:
    virtual ~Port() = default;

    // Level-triggered: readable as long as receive() has something to do.
    virtual int fd() const = 0;

    // Hand up to BATCH waiting frames to `sink`; never blocks.
    virtual void receive(Sink &sink) = 0;

    // Queue a frame (it is copied); it is on its way at the latest after flush().
    virtual void send(const uint8_t *frame, size_t length) = 0;
    virtual void flush() {}

    // Frames wait in it however late they are fetched: worth leaving there until they are wanted.
    virtual bool patient() const { return false; }

    // Bring what was lost outside this program into `stats`.
    virtual void count_losses() {}

    PortStats stats;
    bool broken = false;  // nothing will come any more: do not wait for it

  protected:
    void received(Sink &sink, const uint8_t *frame, size_t length) {
        stats.rx_frames++;
        stats.rx_bytes += length;
        sink.frame(frame, length);
    }
};

// One port, or several queues of one; each queue is for one thread to receive by, and for one to send by.
using Queues = std::vector<std::unique_ptr<Port>>;

// Each throws std::runtime_error with a message for people.
// AF_PACKET, e.g. one end of a veth; of several queues each has its share of the flows.
Queues open_interface(const std::string &name, unsigned queues = 1);
// By AF_XDP: of a veth pair that is this deployment's alone and whose other end leaves nothing to hardware,
// no checksum and no VLAN tag. Its queueing disciplines are passed by. Where that cannot be had,
// open_interface() and the reason in `instead`.
// `nic`: a network card that is this deployment's alone, with all its queues, in its driver's own way where
// that can be had. The interface's own queues, dealt out to at most `queues`.
Queues open_own_interface(const std::string &name, std::string &instead, bool nic = false,
                          unsigned queues = 1);
std::unique_ptr<Port> open_tap(int fd);               // an attached /dev/net/tun
std::unique_ptr<Port> open_seqpacket(int listening);  // a listening SOCK_SEQPACKET socket
std::unique_ptr<Port> open_pcap(const std::string &in, const std::string &out);  // either may be empty

// A port of one queue.
inline Queues alone(std::unique_ptr<Port> port) {
    Queues queues;
    queues.push_back(std::move(port));
    return queues;
}

}  // namespace olaf
