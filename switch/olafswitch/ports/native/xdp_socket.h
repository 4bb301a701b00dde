// An AF_XDP socket: frames in memory shared with the kernel, and the four rings that say whose
// each chunk of it is.
#pragma once
#include <linux/if_xdp.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "descriptor.h"

namespace olaf {

// Memory that is given back.
class Mapping {
  public:
    Mapping(size_t bytes, int flags, int fd, uint64_t which, const std::string &what);
    ~Mapping();
    Mapping(const Mapping &) = delete;
    Mapping &operator=(const Mapping &) = delete;
    uint8_t *start() const { return static_cast<uint8_t *>(start_); }

  private:
    size_t bytes_;
    void *start_;
};

// One ring: one side advances the producer's index, the other the consumer's; both count on and on.
template <typename Item> class XdpRing {
  public:
    XdpRing(int fd, const xdp_ring_offset &offsets, uint32_t size, uint64_t which, const std::string &what);

    Item &at(uint32_t index) const { return items_[index & (size_ - 1)]; }
    uint32_t produced() const { return std::atomic_ref(*producer_).load(std::memory_order_acquire); }
    uint32_t consumed() const { return std::atomic_ref(*consumer_).load(std::memory_order_acquire); }
    void produce_to(uint32_t index) { std::atomic_ref(*producer_).store(index, std::memory_order_release); }
    void consume_to(uint32_t index) { std::atomic_ref(*consumer_).store(index, std::memory_order_release); }

  private:
    Mapping mapped_;
    uint32_t size_;
    uint32_t *producer_, *consumer_;
    Item *items_;
};

// Memory and rings before the socket has an interface. Destroyed after the rings are.
class XdpMemory {
  public:
    static constexpr uint32_t CHUNK = 2048;
    // The first chunks are for what is received: 1,228 frames of 8,960 bytes, so that a pause of the engine
    // of 7 ms loses none of 160,000/s. The others are for what is sent.
    static constexpr uint32_t RECEIVED = 6144;
    static constexpr uint32_t SENT = 256;
    // Places in the rings of what is received; as SENT a power of two.
    static constexpr uint32_t PLACES = 8192;

    explicit XdpMemory(const std::string &what);  // throws std::runtime_error

    int fd() const { return socket_.fd(); }
    uint8_t *at(uint64_t address) const { return frames_.start() + address; }
    const xdp_mmap_offsets &offsets() const { return offsets_; }

  private:
    static constexpr size_t BYTES = size_t(CHUNK) * (RECEIVED + SENT);

    Descriptor socket_;
    Mapping frames_;
    xdp_mmap_offsets offsets_{};
};

class XdpSocket {
  public:
    // At a queue of `interface`; every chunk for what is received is the kernel's. `copy`: without the
    // driver's help. Throws std::runtime_error.
    XdpSocket(const std::string &interface, uint32_t queue, bool copy);

    int fd() const { return memory.fd(); }

  private:
    // What the others need is there before them, and goes after them.
    std::string what_;

  public:
    XdpMemory memory;
    XdpRing<xdp_desc> received;
    XdpRing<uint64_t> to_fill, completed;
};

// A second socket at the same queue and memory, to send by. Apart from the one that is waited for: the kernel
// tells each process that waits for a socket of every frame that it has sent.
class XdpSender {
  public:
    XdpSender(const std::string &interface, uint32_t queue, const XdpSocket &beside);  // likewise

    int fd() const { return socket_.fd.fd(); }

  private:
    struct Socket {
        explicit Socket(const std::string &what);
        Descriptor fd;
        xdp_mmap_offsets offsets{};
    };

    std::string what_;
    Socket socket_;

  public:
    XdpRing<xdp_desc> to_send;
};

}  // namespace olaf
