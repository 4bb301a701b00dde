// Hands every frame that comes in at an interface to an AF_XDP socket.
#pragma once
#include <string>

namespace olaf {

// As long as it lives; the kernel takes the program away with the process, however that ends.
class XdpRedirect {
  public:
    XdpRedirect(const std::string &interface, int socket);  // throws std::runtime_error
    ~XdpRedirect();
    XdpRedirect(const XdpRedirect &) = delete;
    XdpRedirect &operator=(const XdpRedirect &) = delete;

  private:
    int link_;
};

}  // namespace olaf
