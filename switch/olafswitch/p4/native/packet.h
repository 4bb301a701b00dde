// Bits in and out of packets: fields are big-endian, at any bit.
#pragma once
#include "bits.h"

// `w` <= 64 bits at bit `at` of p
P4_INLINE u64 load_bits(const u8 *p, u32 at, u32 w) {
    if (w == 0) return 0;
    u32 first = at / 8, last = (at + w - 1) / 8, shift = 7 - (at + w - 1) % 8;
    u64 v = 0;
    u8 over = 0;
    for (u32 i = first; i <= last; i++) {
        if (i == first + 8) over = (u8)(v >> 56);
        v = v << 8 | p[i];
    }
    v = shift && last - first == 8 ? v >> shift | (u64)over << (64 - shift) : v >> shift;
    return w == 64 ? v : v & ((1ull << w) - 1);
}

// Writes them to p and leaves its other bits unchanged.
P4_INLINE void store_bits(u8 *p, u32 at, u32 w, u64 v) {
    if (w == 0) return;
    if (at % 8 == 0 && w % 8 == 0) {
        for (u32 i = 0; i < w / 8; i++) p[at / 8 + i] = (u8)(v >> (w - 8 - 8 * i));
        return;
    }
    for (u32 done = 0; done < w;) {
        u32 bit = (at + done) % 8, room = 8 - bit, n = w - done < room ? w - done : room;
        u8 part = (u8)(v >> (w - done - n) & ((1u << n) - 1)), mask = (u8)(((1u << n) - 1) << (room - n));
        u8 &byte = p[(at + done) / 8];
        byte = (u8)((byte & ~mask) | part << (room - n));
        done += n;
    }
}

template <class T> P4_INLINE T load_wide(const u8 *p, u32 at, u32 w) {
    T t{};
    for (u32 i = 0; 64 * i < w; i++) {
        u32 n = w - 64 * i < 64 ? w - 64 * i : 64;
        Limbs<T>::set(t, i, load_bits(p, at + w - 64 * i - n, n));
    }
    return t;
}
template <> inline u64 load_wide<u64>(const u8 *p, u32 at, u32 w) { return load_bits(p, at, w); }

template <class T> P4_INLINE void store_wide(u8 *p, u32 at, u32 w, const T &t) {
    for (u32 i = 0; 64 * i < w; i++) {
        u32 n = w - 64 * i < 64 ? w - 64 * i : 64;
        store_bits(p, at + w - 64 * i - n, n, Limbs<T>::get(t, i));
    }
}

// varbit<MAX>: `bits` of them, in the low bits of `value`
template <class T> struct Varbit {
    T value;
    u32 bits;
};

// Bits appended one field after another; what hashes and checksums are computed over.
struct BitRow {
    u8 *bytes;
    u32 bits;
    template <class T> P4_METHOD void put(const T &t, u32 w) {
        if (bits % 8 == 0)
            memset(bytes + bits / 8, 0, (w + 7) / 8);
        else
            memset(bytes + bits / 8 + 1, 0, (w + 7) / 8);
        store_wide(bytes, bits, w, t);
        bits += w;
    }
    u32 length() const { return (bits + 7) / 8; }
};

// Without the namespace, all libraries in the process would share one `scratch` for each type name, even
// where their types differ in size.
namespace {
// A header stack; an index out of range reads zeros, and what is written there is lost.
template <class T, int N> struct Stack {
    T e[N];
    u32 next;
    P4_METHOD T &at(u64 i) {
        if (__builtin_expect(i < (u64)N, 1)) return e[i];
        static thread_local T scratch;
        scratch = T{};
        return scratch;
    }
    void push_front(u32 n) {
        next = next + n > (u32)N ? (u32)N : next + n;
        for (int i = N - 1; i >= 0; i--) e[i] = i >= (int)n ? e[i - n] : T{};
    }
    void pop_front(u32 n) {
        next = next < n ? 0 : next - n;
        for (int i = 0; i < N; i++) e[i] = (u64)i + n < (u64)N ? e[i + n] : T{};
    }
};
}  // namespace
