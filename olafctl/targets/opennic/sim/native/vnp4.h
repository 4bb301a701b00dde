// The programs behind the stand-ins for the IPs.
#ifndef OLAF_VNP4_H
#define OLAF_VNP4_H
#include <stddef.h>
#include <stdint.h>

// Metadata is the bus's bits, lowest byte first; `head` is the frame's first 128 bytes or all of it. A
// program returns 0 to drop the frame, 1 to let it through, 2 to let it through once the extern has answered
// `question` (104 bits, lowest byte first): the 32 bits at `answer_low` of the metadata are then the answer.
typedef struct {
    uint8_t meta[64];
    uint8_t head[128 + 64];
    uint32_t head_bytes;
    uint8_t question[16];
    uint32_t answer_low;
} vnp4_frame;
typedef int (*vnp4_program)(int which, vnp4_frame *frame);

#ifdef __cplusplus
extern "C" {
#endif
void vnp4_set_program(vnp4_program program);
// Cycles from a frame's first beat in to its first beat out, and from the question to its answer.
void vnp4_set_latency(unsigned latency, unsigned extern_latency);
// Breaches of the rules by what is around the IPs: metadata not with the first beat, an answer at a wrong
// time.
uint64_t vnp4_breaches(void);
#ifdef __cplusplus
}
#endif
#endif
