// pcap files as a port: frames appended to one file arrive, frames that leave are appended to another.
// Recorded times do not matter here; virtual time is where they do.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <vector>

#include "failure.h"
#include "ports.h"

namespace olaf {
namespace {

constexpr uint32_t MICROSECONDS = 0xA1B2C3D4;
constexpr uint32_t NANOSECONDS = 0xA1B23C4D;
constexpr uint32_t LINK_ETHERNET = 1;
constexpr uint32_t LINK_BMV2 = 0;         // what BMv2 writes for its frames, which are Ethernet's
constexpr uint32_t MAX_RECORD = 1 << 18;  // libpcap's own limit

struct FileHeader {
    uint32_t magic;
    uint16_t major, minor;
    uint32_t zone, accuracy, snap_length, link_type;
};

struct RecordHeader {
    uint32_t seconds, fraction, length, original_length;
};

class PcapPort final : public Port {
  public:
    PcapPort(const std::string &in, const std::string &out) : in_name_(in) {
        epoll_ = checked(epoll_create1(EPOLL_CLOEXEC), "epoll");
        more_ = checked(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), "eventfd");
        watch(more_);
        if (!in.empty()) open_in();
        if (!out.empty()) open_out(out);
    }

    ~PcapPort() override {
        for (int fd : {in_, out_, changes_, more_, epoll_}) {
            if (fd >= 0) close(fd);
        }
    }

    int fd() const override { return epoll_; }
    bool patient() const override { return true; }

    void receive(Sink &sink) override {
        std::array<char, 4096> events;
        while (changes_ >= 0 && read(changes_, events.data(), events.size()) > 0) {}
        uint64_t seen;
        while (read(more_, &seen, sizeof seen) > 0) {}
        if (position_ == 0 && !begin()) return;
        for (size_t i = 0; i < BATCH; i++) {
            if (!next(sink)) return;
        }
        call_again();
    }

    void send(const uint8_t *frame, size_t length) override {
        if (out_ < 0) {
            stats.tx_dropped++;
            return;
        }
        timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        RecordHeader header{uint32_t(now.tv_sec), uint32_t(now.tv_nsec), uint32_t(length), uint32_t(length)};
        const auto *bytes = reinterpret_cast<const uint8_t *>(&header);
        pending_.insert(pending_.end(), bytes, bytes + sizeof header);
        pending_.insert(pending_.end(), frame, frame + length);
        pending_frames_++;
    }

    void flush() override {
        size_t done = 0;
        while (done < pending_.size()) {
            ssize_t written = write(out_, pending_.data() + done, pending_.size() - done);
            if (written <= 0) break;
            done += size_t(written);
        }
        if (done == pending_.size()) {
            end_ += off_t(done);
            stats.tx_frames += pending_frames_;
            stats.tx_bytes += done - pending_frames_ * sizeof(RecordHeader);
        } else {
            // A disk that fills up takes a part: after a record that is not whole no other could be read.
            stats.tx_dropped += pending_frames_;
            if (ftruncate(out_, end_) < 0 || lseek(out_, end_, SEEK_SET) < 0) std::perror("olaf: pcap");
        }
        pending_.clear();
        pending_frames_ = 0;
    }

  private:
    void watch(int fd) {
        epoll_event event{};
        event.events = EPOLLIN;
        checked(epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event), "epoll");
    }

    void open_in() {
        in_ = checked(open(in_name_.c_str(), O_RDONLY | O_CLOEXEC), in_name_);
        changes_ = checked(inotify_init1(IN_NONBLOCK | IN_CLOEXEC), "inotify");
        checked(inotify_add_watch(changes_, in_name_.c_str(), IN_MODIFY), in_name_);
        watch(changes_);
        begin();
        call_again();
    }

    void open_out(const std::string &name) {
        out_ = checked(open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644), name);
        FileHeader header{NANOSECONDS, 2, 4, 0, 0, uint32_t(MAX_FRAME), LINK_ETHERNET};
        if (write(out_, &header, sizeof header) != ssize_t(sizeof header)) fail(name);
        end_ = sizeof header;
    }

    void call_again() {
        uint64_t one = 1;
        if (write(more_, &one, sizeof one) < 0 && errno != EAGAIN) fail("eventfd");
    }

    uint32_t host(uint32_t value) const { return swapped_ ? __builtin_bswap32(value) : value; }

    // Read the file header once it is there.
    bool begin() {
        FileHeader header;
        if (in_ < 0 || pread(in_, &header, sizeof header, 0) != ssize_t(sizeof header)) return false;
        uint32_t turned = __builtin_bswap32(header.magic);
        swapped_ = turned == MICROSECONDS || turned == NANOSECONDS;
        if (!swapped_ && header.magic != MICROSECONDS && header.magic != NANOSECONDS)
            throw std::runtime_error(in_name_ + " is not a pcap file");
        uint32_t link = host(header.link_type) & 0xFFFF;
        if (link != LINK_ETHERNET && link != LINK_BMV2)
            throw std::runtime_error(in_name_ + " does not hold Ethernet frames");
        position_ = sizeof header;
        return true;
    }

    // Deliver the next record; false when it is not there completely yet.
    bool next(Sink &sink) {
        RecordHeader header;
        if (pread(in_, &header, sizeof header, position_) != ssize_t(sizeof header)) return false;
        size_t length = host(header.length);
        if (length > MAX_RECORD)
            throw std::runtime_error(in_name_ + " has a record longer than any frame: it is damaged");
        off_t after = position_ + off_t(sizeof header + length);
        if (length > frame_.size() || length != host(header.original_length)) {
            struct stat file;
            if (fstat(in_, &file) < 0 || file.st_size < after) return false;
            stats.rx_dropped++;
            position_ = after;
            return true;
        }
        if (pread(in_, frame_.data(), length, position_ + off_t(sizeof header)) != ssize_t(length))
            return false;
        position_ = after;
        received(sink, frame_.data(), length);
        return true;
    }

    std::string in_name_;
    int epoll_ = -1, more_ = -1, in_ = -1, out_ = -1, changes_ = -1;
    bool swapped_ = false;
    off_t position_ = 0;
    std::array<uint8_t, MAX_FRAME> frame_;
    std::vector<uint8_t> pending_;
    uint64_t pending_frames_ = 0;
    off_t end_ = 0;  // of what is written
};

}  // namespace

std::unique_ptr<Port> open_pcap(const std::string &in, const std::string &out) {
    return std::make_unique<PcapPort>(in, out);
}

}  // namespace olaf
