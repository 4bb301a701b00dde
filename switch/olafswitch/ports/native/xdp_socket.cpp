#include "xdp_socket.h"

#include <net/if.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>

#include "failure.h"

namespace olaf {
namespace {

// Not in every system's headers: frames may lie in several chunks (Linux 6.6).
constexpr uint16_t SEVERAL_CHUNKS = 1 << 4;

// The kernel gives an interface's queue free some time after the last owner is gone.
constexpr int BIND_ATTEMPTS = 500;
constexpr timespec BETWEEN_ATTEMPTS{0, 2000000};

template <typename Value> void option(int fd, int which, const Value &value, const std::string &what) {
    checked(setsockopt(fd, SOL_XDP, which, &value, sizeof value), what);
}

int new_socket(const std::string &what) {
    return checked(socket(AF_XDP, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), what);
}

xdp_mmap_offsets offsets_of(int fd, const std::string &what) {
    xdp_mmap_offsets offsets;
    socklen_t size = sizeof offsets;
    checked(getsockopt(fd, SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &size), what);
    return offsets;
}

void bind_to(int fd, const std::string &interface, uint32_t queue, unsigned flags, int beside,
             const std::string &what) {
    sockaddr_xdp address{};
    address.sxdp_family = AF_XDP;
    address.sxdp_flags = uint16_t(flags);
    address.sxdp_shared_umem_fd = uint32_t(beside);
    address.sxdp_queue_id = queue;
    address.sxdp_ifindex = if_nametoindex(interface.c_str());
    if (address.sxdp_ifindex == 0) fail("interface " + interface);
    for (int left = BIND_ATTEMPTS; bind(fd, reinterpret_cast<sockaddr *>(&address), sizeof address) < 0;) {
        if (errno != EBUSY || --left == 0) fail(what);
        nanosleep(&BETWEEN_ATTEMPTS, nullptr);
    }
}

}  // namespace

Mapping::Mapping(size_t bytes, int flags, int fd, uint64_t which, const std::string &what)
    : bytes_(bytes), start_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, fd, off_t(which))) {
    if (start_ == MAP_FAILED) fail(what);
}

Mapping::~Mapping() { munmap(start_, bytes_); }

template <typename Item> XdpRing<Item>::XdpRing(int fd, const xdp_ring_offset &offsets, uint32_t size,
                                                uint64_t which, const std::string &what)
    : mapped_(offsets.desc + size * sizeof(Item), MAP_SHARED | MAP_POPULATE, fd, which, what), size_(size) {
    producer_ = reinterpret_cast<uint32_t *>(mapped_.start() + offsets.producer);
    consumer_ = reinterpret_cast<uint32_t *>(mapped_.start() + offsets.consumer);
    items_ = reinterpret_cast<Item *>(mapped_.start() + offsets.desc);
}

template class XdpRing<xdp_desc>;
template class XdpRing<uint64_t>;

XdpMemory::XdpMemory(const std::string &what)
    : socket_(new_socket(what)), frames_(BYTES, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, what) {
    xdp_umem_reg memory{};
    memory.addr = reinterpret_cast<uint64_t>(frames_.start());
    memory.len = BYTES;
    memory.chunk_size = CHUNK;
    option(fd(), XDP_UMEM_REG, memory, what);
    option(fd(), XDP_UMEM_FILL_RING, PLACES, what);
    option(fd(), XDP_RX_RING, PLACES, what);
    option(fd(), XDP_UMEM_COMPLETION_RING, SENT, what);
    offsets_ = offsets_of(fd(), what);
}

XdpSocket::XdpSocket(const std::string &interface, uint32_t queue, bool copy)
    : what_("an XDP socket on " + interface),
      memory(what_),
      received(fd(), memory.offsets().rx, XdpMemory::PLACES, XDP_PGOFF_RX_RING, what_),
      to_fill(fd(), memory.offsets().fr, XdpMemory::PLACES, XDP_UMEM_PGOFF_FILL_RING, what_),
      completed(fd(), memory.offsets().cr, XdpMemory::SENT, XDP_UMEM_PGOFF_COMPLETION_RING, what_) {
    for (uint32_t chunk = 0; chunk < XdpMemory::RECEIVED; chunk++)
        to_fill.at(chunk) = uint64_t(chunk) * XdpMemory::CHUNK;
    to_fill.produce_to(XdpMemory::RECEIVED);
    bind_to(fd(), interface, queue, SEVERAL_CHUNKS | (copy ? XDP_COPY : 0), 0, what_);
}

XdpSender::Socket::Socket(const std::string &what) : fd(new_socket(what)) {
    option(fd.fd(), XDP_TX_RING, XdpMemory::SENT, what);
    offsets = offsets_of(fd.fd(), what);
}

XdpSender::XdpSender(const std::string &interface, uint32_t queue, const XdpSocket &beside)
    : what_("an XDP socket to send by on " + interface),
      socket_(what_),
      to_send(fd(), socket_.offsets.tx, XdpMemory::SENT, XDP_PGOFF_TX_RING, what_) {
    bind_to(fd(), interface, queue, XDP_SHARED_UMEM, beside.fd(), what_);
}

}  // namespace olaf
