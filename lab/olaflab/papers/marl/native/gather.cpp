// Gathers mini-batches as one trainer does, for a simulation of the cache: what is read counts, not how fast.
//
// gather LAYOUT ROWS STRIDE, then on the standard input one row index after the other; the memory is never
// written, so that untouched pages cost nothing. LAYOUT: none, joint, or the bytes of each array,
// "64,20,64,4,4".

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

constexpr std::size_t BATCH = 1024;
constexpr std::size_t WORD = sizeof(std::uint32_t);

const std::uint32_t *reserve(std::size_t bytes) {
    void *memory = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    return static_cast<const std::uint32_t *>(memory);
}

}  // namespace

int main(int count, char **arguments) {
    if (count != 4) return 2;
    const std::string layout = arguments[1];
    const std::size_t rows = std::strtoull(arguments[2], nullptr, 10);
    const std::size_t stride = std::strtoull(arguments[3], nullptr, 10);
    std::vector<std::size_t> sizes;
    if (layout == "joint") {
        sizes.push_back(stride);
    } else if (layout != "none") {
        for (const char *at = arguments[1]; *at != 0;) {
            char *end = nullptr;
            sizes.push_back(std::strtoull(at, &end, 10));
            at = *end == ',' ? end + 1 : end;
        }
    }
    std::vector<const std::uint32_t *> arrays;
    for (const std::size_t size : sizes) arrays.push_back(reserve(rows * size));
    std::vector<std::uint32_t> into(BATCH * stride / WORD, 1);
    std::vector<std::uint32_t> indices(BATCH);
    while (std::fread(indices.data(), sizeof indices[0], BATCH, stdin) == BATCH) {
        std::uint32_t *to = into.data();
        for (std::size_t each = 0; each < sizes.size(); ++each) {
            for (const std::uint32_t index : indices) {
                const std::size_t words = sizes[each] / WORD;
                const std::uint32_t *from = arrays[each] + index * words;
                // Word by word: an access across two lines counts as one.
                for (std::size_t word = 0; word < words; ++word) *to++ = from[word];
            }
        }
    }
    return into[0] == 2;
}
