// bit<w> and int<w> in C++: the smallest of u64, u128 and Wide<n> that holds w bits, unsigned and cut to
// w bits; signed operations read the sign from bit w-1.
#pragma once
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef unsigned __int128 u128;

#define P4_METHOD inline __attribute__((always_inline))
#define P4_INLINE static P4_METHOD

template <int N> struct Wide {
    u64 w[N];
};  // least significant word first

P4_INLINE u128 make128(u64 high, u64 low) { return (u128)high << 64 | low; }

// --- conversions between the three
template <class T> struct Limbs;
template <> struct Limbs<u64> {
    enum { n = 1 };
    static u64 get(u64 v, int) { return v; }
    static void set(u64 &v, int i, u64 x) {
        if (i == 0) v = x;
    }
};
template <> struct Limbs<u128> {
    enum { n = 2 };
    static u64 get(u128 v, int i) { return i ? (u64)(v >> 64) : (u64)v; }
    static void set(u128 &v, int i, u64 x) {
        v = i ? (v & (u128)~0ull) | (u128)x << 64 : (v & ~(u128)~0ull) | x;
    }
};
template <int N> struct Limbs<Wide<N>> {
    enum { n = N };
    static u64 get(const Wide<N> &v, int i) { return v.w[i]; }
    static void set(Wide<N> &v, int i, u64 x) { v.w[i] = x; }
};

template <class T, class S> P4_INLINE T convert(const S &s) {
    T t{};
    for (int i = 0; i < Limbs<T>::n && i < Limbs<S>::n; i++) Limbs<T>::set(t, i, Limbs<S>::get(s, i));
    return t;
}
template <> inline u64 convert<u64, u64>(const u64 &s) { return s; }
template <> inline u128 convert<u128, u64>(const u64 &s) { return s; }
template <> inline u64 convert<u64, u128>(const u128 &s) { return (u64)s; }
template <> inline u128 convert<u128, u128>(const u128 &s) { return s; }

// --- cut to W bits
template <int W> P4_INLINE u64 cut(u64 v) { return W >= 64 ? v : v & ((1ull << (W & 63)) - 1); }
template <int W> P4_INLINE u128 cut(u128 v) { return W >= 128 ? v : v & (((u128)1 << (W & 127)) - 1); }
template <int W, int N> P4_INLINE Wide<N> cut(Wide<N> v) {
    for (int i = 0; i < N; i++) {
        int left = W - 64 * i;
        v.w[i] = left >= 64 ? v.w[i] : left <= 0 ? 0 : v.w[i] & ((1ull << left) - 1);
    }
    return v;
}

// --- Wide's operators
template <int N> inline Wide<N> operator+(const Wide<N> &a, const Wide<N> &b) {
    Wide<N> r;
    u64 carry = 0;
    for (int i = 0; i < N; i++) {
        u128 s = (u128)a.w[i] + b.w[i] + carry;
        r.w[i] = (u64)s;
        carry = (u64)(s >> 64);
    }
    return r;
}
template <int N> inline Wide<N> operator~(const Wide<N> &a) {
    Wide<N> r;
    for (int i = 0; i < N; i++) r.w[i] = ~a.w[i];
    return r;
}
template <int N> inline Wide<N> operator-(const Wide<N> &a, const Wide<N> &b) {
    Wide<N> one{};
    one.w[0] = 1;
    return a + (~b + one);
}
template <int N> inline Wide<N> operator*(const Wide<N> &a, const Wide<N> &b) {
    Wide<N> r{};
    for (int i = 0; i < N; i++) {
        u64 carry = 0;
        for (int j = 0; i + j < N; j++) {
            u128 s = (u128)a.w[i] * b.w[j] + r.w[i + j] + carry;
            r.w[i + j] = (u64)s;
            carry = (u64)(s >> 64);
        }
    }
    return r;
}
#define P4_WIDE_BITWISE(op)                                                           \
    template <int N> inline Wide<N> operator op(const Wide<N> &a, const Wide<N> &b) { \
        Wide<N> r;                                                                    \
        for (int i = 0; i < N; i++) r.w[i] = a.w[i] op b.w[i];                        \
        return r;                                                                     \
    }
P4_WIDE_BITWISE(&)
P4_WIDE_BITWISE(|)
P4_WIDE_BITWISE(^)
template <int N> inline bool operator==(const Wide<N> &a, const Wide<N> &b) {
    return memcmp(a.w, b.w, sizeof a.w) == 0;
}
template <int N> inline bool operator!=(const Wide<N> &a, const Wide<N> &b) { return !(a == b); }
template <int N> inline bool operator<(const Wide<N> &a, const Wide<N> &b) {
    for (int i = N - 1; i >= 0; i--)
        if (a.w[i] != b.w[i]) return a.w[i] < b.w[i];
    return false;
}
template <int N> inline bool operator>(const Wide<N> &a, const Wide<N> &b) { return b < a; }
template <int N> inline bool operator<=(const Wide<N> &a, const Wide<N> &b) { return !(b < a); }
template <int N> inline bool operator>=(const Wide<N> &a, const Wide<N> &b) { return !(a < b); }

// --- shifts by any number of places
P4_INLINE u64 left(u64 v, u64 n) { return n >= 64 ? 0 : v << n; }
P4_INLINE u64 right(u64 v, u64 n) { return n >= 64 ? 0 : v >> n; }
P4_INLINE u128 left(u128 v, u64 n) { return n >= 128 ? 0 : v << n; }
P4_INLINE u128 right(u128 v, u64 n) { return n >= 128 ? 0 : v >> n; }
template <int N> inline Wide<N> left(const Wide<N> &v, u64 n) {
    Wide<N> r{};
    if (n >= 64ull * N) return r;
    int words = n / 64, bits = n % 64;
    for (int i = N - 1; i >= words; i--) {
        r.w[i] = v.w[i - words] << bits;
        if (bits && i > words) r.w[i] |= v.w[i - words - 1] >> (64 - bits);
    }
    return r;
}
template <int N> inline Wide<N> right(const Wide<N> &v, u64 n) {
    Wide<N> r{};
    if (n >= 64ull * N) return r;
    int words = n / 64, bits = n % 64;
    for (int i = 0; i + words < N; i++) {
        r.w[i] = v.w[i + words] >> bits;
        if (bits && i + words + 1 < N) r.w[i] |= v.w[i + words + 1] << (64 - bits);
    }
    return r;
}
template <class S> P4_INLINE u64 places(const S &n) {
    for (int i = 1; i < Limbs<S>::n; i++)
        if (Limbs<S>::get(n, i)) return ~0ull;
    return Limbs<S>::get(n, 0);
}

// --- signed numbers
template <int W, class T> P4_INLINE bool negative(const T &v) {
    return Limbs<T>::get(v, (W - 1) / 64) >> ((W - 1) % 64) & 1;
}
template <int W, class T> P4_INLINE T top() {
    T t{};
    Limbs<T>::set(t, (W - 1) / 64, 1ull << ((W - 1) % 64));
    return t;
}
template <int W, class T> P4_INLINE T ones() { return cut<W>((T)~T{}); }
template <> inline u64 ones<64, u64>() { return ~0ull; }

template <int W, class T> P4_INLINE bool less_signed(const T &a, const T &b) {
    return (a ^ top<W, T>()) < (b ^ top<W, T>());
}
// from W bits to V bits, the sign kept
template <int W, int V, class T, class S> P4_INLINE T extend(const S &s) {
    T t = convert<T>(s);
    if (V > W && negative<W>(s)) t = t | (cut<V>((T)~T{}) ^ cut<(W < V ? W : V)>((T)~T{}));
    return cut<V>(t);
}
template <int W, class T> P4_INLINE T right_signed(const T &v, u64 n) {
    if (!negative<W>(v)) return right(v, n);
    return cut<W>((T)~right(cut<W>((T)~v), n));
}

// --- saturating arithmetic
template <int W, class T> P4_INLINE T add_sat(const T &a, const T &b) {
    T s = cut<W>((T)(a + b));
    return s < a ? ones<W, T>() : s;
}
template <int W, class T> P4_INLINE T sub_sat(const T &a, const T &b) { return a < b ? T{} : (T)(a - b); }
template <int W, class T> P4_INLINE T bound(bool low) {
    return low ? top<W, T>() : (T)(ones<W, T>() ^ top<W, T>());
}
template <int W, class T> P4_INLINE T add_sat_signed(const T &a, const T &b) {
    T s = cut<W>((T)(a + b));
    bool x = negative<W>(a), y = negative<W>(b);
    return x == y && negative<W>(s) != x ? bound<W, T>(x) : s;
}
template <int W, class T> P4_INLINE T sub_sat_signed(const T &a, const T &b) {
    T s = cut<W>((T)(a - b));
    bool x = negative<W>(a), y = negative<W>(b);
    return x != y && negative<W>(s) != x ? bound<W, T>(x) : s;
}

// --- division; by zero it gives zero
P4_INLINE u64 quotient(u64 a, u64 b) { return b ? a / b : 0; }
P4_INLINE u64 remainder(u64 a, u64 b) { return b ? a % b : 0; }
P4_INLINE u128 quotient(u128 a, u128 b) { return b ? a / b : 0; }
P4_INLINE u128 remainder(u128 a, u128 b) { return b ? a % b : 0; }
template <int N> inline void divide(const Wide<N> &a, const Wide<N> &b, Wide<N> &q, Wide<N> &r) {
    q = r = Wide<N>{};
    if (b == q) return;
    for (int i = 64 * N - 1; i >= 0; i--) {
        r = left(r, 1);
        r.w[0] |= a.w[i / 64] >> (i % 64) & 1;
        if (r >= b) {
            r = r - b;
            q.w[i / 64] |= 1ull << (i % 64);
        }
    }
}
template <int N> inline Wide<N> quotient(const Wide<N> &a, const Wide<N> &b) {
    Wide<N> q, r;
    divide(a, b, q, r);
    return q;
}
template <int N> inline Wide<N> remainder(const Wide<N> &a, const Wide<N> &b) {
    Wide<N> q, r;
    divide(a, b, q, r);
    return r;
}

// --- slices
template <int H, int L, class T, class S> P4_INLINE T slice(const S &s) {
    return cut<H - L + 1>(convert<T>(right(s, L)));
}
template <int H, int L, class T, class S> P4_INLINE void set_slice(T &t, const S &s) {
    T mask = left(ones<H - L + 1, T>(), L);
    t = (t & ~mask) | left(convert<T>(s), L);
}
