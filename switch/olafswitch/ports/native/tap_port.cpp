// A TAP device: the kernel's own interface is the host side.
#include <unistd.h>

#include <array>
#include <cerrno>

#include "descriptor.h"
#include "failure.h"
#include "ports.h"

namespace olaf {
namespace {

class TapPort final : public Port {
  public:
    explicit TapPort(int fd) : tap_(fd) {}

    int fd() const override { return tap_.fd(); }

    void receive(Sink &sink) override {
        for (size_t i = 0; i < BATCH; i++) {
            ssize_t length = read(fd(), frame_.data(), frame_.size());
            if (length <= 0) {
                broken = length < 0 && errno != EAGAIN && errno != EINTR && errno != EIO;
                return;
            }
            if (size_t(length) > MAX_FRAME) {
                stats.rx_dropped++;
            } else {
                received(sink, frame_.data(), size_t(length));
            }
        }
    }

    void send(const uint8_t *frame, size_t length) override {
        if (write(fd(), frame, length) < 0) {
            stats.tx_dropped++;
            return;
        }
        stats.tx_frames++;
        stats.tx_bytes += length;
    }

  private:
    Descriptor tap_;
    std::array<uint8_t, MAX_FRAME + 1> frame_;  // one more byte shows a frame that is too long
};

}  // namespace

std::unique_ptr<Port> open_tap(int fd) { return std::make_unique<TapPort>(fd); }

}  // namespace olaf
