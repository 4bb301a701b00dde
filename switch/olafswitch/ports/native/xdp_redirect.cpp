#include "xdp_redirect.h"

#include <linux/bpf.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "failure.h"

namespace olaf {
namespace {

constexpr uint32_t FRAMES_IN_PARTS = 1 << 5;  // BPF_F_XDP_HAS_FRAGS: large frames too

// The kernel asks for zeros where a command has no field.
bpf_attr nothing() {
    bpf_attr attributes;
    std::memset(&attributes, 0, sizeof attributes);
    return attributes;
}

int bpf(bpf_cmd command, bpf_attr &attributes, const std::string &what) {
    return checked(int(syscall(SYS_bpf, command, &attributes, sizeof attributes)), what);
}

int new_map(size_t queues, const std::string &what) {
    bpf_attr wanted = nothing();
    wanted.map_type = BPF_MAP_TYPE_XSKMAP;
    wanted.key_size = sizeof(uint32_t);
    wanted.value_size = sizeof(int);
    wanted.max_entries = uint32_t(queues);
    return bpf(BPF_MAP_CREATE, wanted, what);
}

void put(int map, uint32_t queue, int socket, const std::string &what) {
    bpf_attr wanted = nothing();
    wanted.map_fd = uint32_t(map);
    wanted.key = reinterpret_cast<uint64_t>(&queue);
    wanted.value = reinterpret_cast<uint64_t>(&socket);
    bpf(BPF_MAP_UPDATE_ELEM, wanted, what);
}

// return bpf_redirect_map(map, context->rx_queue_index, XDP_PASS);
int load(int map, const std::string &what) {
    const bpf_insn program[] = {
        {BPF_LDX | BPF_W | BPF_MEM, BPF_REG_2, BPF_REG_1, offsetof(xdp_md, rx_queue_index), 0},
        {BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map},
        {0, 0, 0, 0, 0},  // the upper half of the constant
        {BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_3, 0, 0, XDP_PASS},
        {BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_redirect_map},
        {BPF_JMP | BPF_EXIT, 0, 0, 0, 0},
    };
    bpf_attr wanted = nothing();
    wanted.prog_type = BPF_PROG_TYPE_XDP;
    wanted.insns = reinterpret_cast<uint64_t>(program);
    wanted.insn_cnt = sizeof program / sizeof *program;
    wanted.license = reinterpret_cast<uint64_t>("Apache-2.0");
    wanted.prog_flags = FRAMES_IN_PARTS;
    return bpf(BPF_PROG_LOAD, wanted, what);
}

int attach(const std::string &interface, const std::vector<int> &sockets, bool driver) {
    std::string what = "an XDP program on " + interface;
    Descriptor map(new_map(sockets.size(), what));
    for (size_t queue = 0; queue < sockets.size(); queue++)
        put(map.fd(), uint32_t(queue), sockets[queue], what);
    Descriptor program(load(map.fd(), what));
    bpf_attr wanted = nothing();
    wanted.link_create.prog_fd = uint32_t(program.fd());
    wanted.link_create.target_ifindex = if_nametoindex(interface.c_str());
    wanted.link_create.attach_type = BPF_XDP;
    // Not the driver's own mode for a veth: that has room for 256 frames only, and takes no jumbo MTU.
    wanted.link_create.flags = XDP_FLAGS_DRV_MODE;
    if (driver)
        if (int link = int(syscall(SYS_bpf, BPF_LINK_CREATE, &wanted, sizeof wanted)); link >= 0) return link;
    wanted.link_create.flags = XDP_FLAGS_SKB_MODE;
    return bpf(BPF_LINK_CREATE, wanted, what);
}

}  // namespace

XdpRedirect::XdpRedirect(const std::string &interface, const std::vector<int> &sockets, bool driver)
    : link_(attach(interface, sockets, driver)) {}

}  // namespace olaf
