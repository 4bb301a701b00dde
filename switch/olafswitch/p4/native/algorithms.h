// Hashes and checksums over bytes, as BMv2 computes them: of any number of bytes, and of N.
#pragma once
#include "packet.h"

// entry[k][b]: what byte b contributes that is followed by k zero bytes.
struct CrcTable {
    enum { SLICES = 16 };
    u32 entry[SLICES][256];
    u32 start[SLICES + 1];  // [n]: what the first value contributes if n bytes follow
    CrcTable(u32 polynomial, u32 first);
    // Of up to 16 bytes: what each contributes depends on its place alone.
    P4_METHOD u32 of(const u8 *p, u32 n, u32 crc) const {
#pragma GCC unroll 16
        for (u32 i = 0; i < n; i++) crc ^= entry[n - 1 - i][p[i]];
        return crc;
    }
    u32 run(const u8 *p, u32 n) const;
};
extern const CrcTable table32, table16;

P4_INLINE u64 crc32(const u8 *p, u32 n) { return (u32)~table32.run(p, n); }
P4_INLINE u64 crc16(const u8 *p, u32 n) { return table16.run(p, n); }
u64 csum16(const u8 *, u32);
u64 csum16_two(const u8 *, u32, const u8 *, u32);
u64 xor16(const u8 *, u32);
u64 identity(const u8 *, u32);

template <u32 N> P4_INLINE u64 crc32(const u8 *p) {
    if constexpr (N > CrcTable::SLICES)
        return crc32(p, N);
    else
        return (u32)~table32.of(p, N, table32.start[N]);
}
template <u32 N> P4_INLINE u64 crc16(const u8 *p) {
    if constexpr (N > CrcTable::SLICES)
        return crc16(p, N);
    else
        return table16.of(p, N, table16.start[N]);
}
template <u32 N> P4_INLINE u64 csum16(const u8 *p) {
    if constexpr (N % 2 || N > 64) return csum16(p, N);
    u64 sum = 0;
#pragma GCC unroll 16
    for (u32 i = 0; i + 4 <= N; i += 4) sum += get_bytes<4>(p + i);
    if (N % 4) sum += get_bytes<2>(p + (N - 2));
    sum = (sum >> 32) + (u32)sum;
    sum = (sum >> 16) + (sum & 0xffff);
    return (u16) ~((sum >> 16) + sum);
}
template <u32 N> P4_INLINE u64 xor16(const u8 *p) { return xor16(p, N); }
template <u32 N> P4_INLINE u64 identity(const u8 *p) { return identity(p, N); }
