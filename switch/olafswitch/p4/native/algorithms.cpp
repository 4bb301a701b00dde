// Hashes and checksums, as BMv2 computes them; meters; random numbers.
#include "switch.h"

static u64 reflected_crc(const u8 *p, u32 n, u64 polynomial, u64 start, u64 final_xor) {
    u64 crc = start;
    for (u32 i = 0; i < n; i++) {
        crc ^= p[i];
        for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ polynomial : crc >> 1;
    }
    return crc ^ final_xor;
}

CrcTable::CrcTable(u32 polynomial, u32 first) {
    for (u32 i = 0; i < 256; i++) {
        u8 byte = (u8)i;
        entry[0][i] = (u32)reflected_crc(&byte, 1, polynomial, 0, 0);
    }
    for (u32 k = 1; k < SLICES; k++)
        for (u32 i = 0; i < 256; i++) entry[k][i] = entry[k - 1][i] >> 8 ^ entry[0][entry[k - 1][i] & 255];
    const u8 zeros[SLICES] = {};
    for (u32 n = 0; n <= SLICES; n++) start[n] = (u32)reflected_crc(zeros, n, polynomial, first, 0);
}

u32 CrcTable::run(const u8 *p, u32 n) const {
    u32 crc = start[0];
    for (; n >= 8; p += 8, n -= 8) {
        u64 v;
        memcpy(&v, p, 8);
        v ^= crc;
        u8 bytes[8];
        memcpy(bytes, &v, 8);
        crc = of(bytes, 8, 0);
    }
    for (; n; p++, n--) crc = crc >> 8 ^ entry[0][(crc ^ *p) & 255];
    return crc;
}
const CrcTable table32(0xedb88320, ~0u), table16(0xa001, 0);

// The ones' complement sum, not yet cut to 16 bits, of words as this machine loads them: with the bytes of
// all words swapped it is that sum with its own swapped.
static u64 sum16(const u8 *p, u32 n) {
    u64 sum = 0, eight, rest = n & 1 ? p[n - 1] : 0;
    for (; n >= 8; p += 8, n -= 8) {
        memcpy(&eight, p, 8);
        sum += eight;
        sum += sum < eight;
    }
    u32 four = 0;
    u16 two = 0;
    if (n & 4) memcpy(&four, p, 4);
    if (n & 2) memcpy(&two, p + (n & 4), 2);
    rest += (u64)four + two;
    sum += rest;
    sum += sum < rest;
    sum = (sum & 0xffffffff) + (sum >> 32);
    return (sum & 0xffff) + (sum >> 16);
}
static u64 complement16(u64 sum) {
    while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
    return (u16)~__builtin_bswap16((u16)sum);
}
u64 csum16(const u8 *p, u32 n) { return complement16(sum16(p, n)); }
u64 csum16_two(const u8 *p, u32 n, const u8 *q, u32 m) {
    return complement16(sum16(p, n) + (sum16(q, m) << (n % 2 * 8)));
}
u64 xor16(const u8 *p, u32 n) {
    u64 x = 0;
    for (u32 i = 0; i < n; i++) x ^= i % 2 ? p[i] : (u64)p[i] << 8;
    return x;
}
u64 identity(const u8 *p, u32 n) {
    u64 x = 0;
    for (u32 i = 0; i < n && i < 8; i++) x = x << 8 | p[i];
    return x;
}

u64 random_between(p4_switch *sw, u64 low, u64 high) {
    u64 x = sw->random += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    x ^= x >> 31;
    u64 span = high - low + 1;
    return span ? low + x % span : x;
}

static double filled(double level, double rate, double burst, u64 ns) {
    double next = level + rate * (double)ns;
    return next > burst ? burst : next;
}

u64 meter_colour(Meter &m, double units, u64 now) {
    MeterConfig *c = acquire(m.config);
    if (!c) return GREEN;
    if (c != m.seen) {
        m.seen = c;
        m.committed = c->cburst;
        m.peak = c->pburst;
        m.last = now;
    }
    u64 passed = now > m.last ? now - m.last : 0;
    m.committed = filled(m.committed, c->cir, c->cburst, passed);
    m.peak = filled(m.peak, c->pir, c->pburst, passed);
    m.last = now > m.last ? now : m.last;
    if (m.peak < units) return RED;
    m.peak -= units;
    if (m.committed < units) return YELLOW;
    m.committed -= units;
    return GREEN;
}
