// Bits in and out of packets: fields are big-endian, at any bit.
#pragma once
#include "bits.h"

// N <= 8 bytes as a number
template <int N> P4_INLINE u64 get_bytes(const u8 *p) {
    if constexpr (N == 8) {
        u64 v;
        memcpy(&v, p, 8);
        return __builtin_bswap64(v);
    } else if constexpr (N > 4) {
        return get_bytes<4>(p) << 8 * (N - 4) | (get_bytes<4>(p + N - 4) & ((1ull << 8 * (N - 4)) - 1));
    } else if constexpr (N == 4) {
        u32 v;
        memcpy(&v, p, 4);
        return __builtin_bswap32(v);
    } else if constexpr (N == 3) {
        return get_bytes<2>(p) << 8 | p[2];
    } else if constexpr (N == 2) {
        u16 v;
        memcpy(&v, p, 2);
        return __builtin_bswap16(v);
    } else {
        return N ? p[0] : 0;
    }
}
template <int N> P4_INLINE void put_bytes(u8 *p, u64 v) {
    if constexpr (N == 8) {
        v = __builtin_bswap64(v);
        memcpy(p, &v, 8);
    } else if constexpr (N > 4) {
        put_bytes<4>(p, v >> 8 * (N - 4));
        put_bytes<N - 4>(p + 4, v);
    } else if constexpr (N == 4) {
        u32 w = __builtin_bswap32((u32)v);
        memcpy(p, &w, 4);
    } else if constexpr (N == 3) {
        put_bytes<2>(p, v >> 8);
        p[2] = (u8)v;
    } else if constexpr (N == 2) {
        u16 w = __builtin_bswap16((u16)v);
        memcpy(p, &w, 2);
    } else if constexpr (N == 1) {
        p[0] = (u8)v;
    }
}

// W bits at bit AT of p
template <class T, int AT, int W> P4_INLINE T load_at(const u8 *p) {
    T t{};
    if constexpr (W > 64) {
        t = load_at<T, AT, W - 64>(p);
        t = left(t, 64) | convert<T>(load_at<u64, AT + W - 64, 64>(p));
    } else if constexpr (W > 0) {
        constexpr int first = AT / 8, last = (AT + W - 1) / 8, n = last - first + 1,
                      drop = 7 - (AT + W - 1) % 8;
        u64 v;
        if constexpr (n <= 8)
            v = get_bytes<n>(p + first) >> drop;
        else
            v = get_bytes<8>(p + first) << (8 - drop) | p[last] >> drop;
        t = convert<T>(cut<W>(v));
    }
    return t;
}
template <int I, class T> P4_INLINE u64 limb(const T &t) { return Limbs<T>::get(t, I); }

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
    template <class T> __attribute__((noinline)) void append(T t, u32 w) { put(t, w); }
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
