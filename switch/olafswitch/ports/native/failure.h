// System call failures as exceptions with a message for people.
#pragma once
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace olaf {

[[noreturn]] inline void fail(const std::string &what) {
    throw std::runtime_error(what + ": " + std::strerror(errno));
}

inline int checked(int result, const std::string &what) {
    if (result < 0) fail(what);
    return result;
}

}  // namespace olaf
