// The programs behind the stand-ins for the IPs.
#ifndef OLAF_VNP4_H
#define OLAF_VNP4_H
#include <stddef.h>
#include <stdint.h>

// Metadata is the bus's bits, lowest byte first; `head` is the frame's first 128 bytes or all of it. A
// program returns 0 to drop the frame, 1 to let it through, 2 to let it through once the extern has answered
// `question` (104 bits, lowest byte first). With `answer_low` VNP4_EXPECTED that must be `expected`, which
// the program used already; otherwise the 32 bits at `answer_low` of the metadata become the answer.
#define VNP4_EXPECTED 0xffffffffu
typedef struct {
    uint8_t meta[64];
    uint8_t head[128 + 64];
    uint32_t head_bytes;
    uint8_t question[16];
    uint32_t answer_low;
    uint32_t expected;
} vnp4_frame;
typedef int (*vnp4_program)(int which, vnp4_frame *frame);

// A register of a stand-in, by its byte offset: writes `value`, or returns what is read.
typedef uint32_t (*vnp4_register)(int which, int write, uint32_t address, uint32_t value);

#ifdef __cplusplus
extern "C" {
#endif
// `program` runs where no compiled one is bound; NULL lets every frame through.
void vnp4_set_program(vnp4_program program);
// Runs the compiled program `process` (a p4_process_metadata_fn of olafswitch/p4/native/switch_abi.h) of `sw`
// behind stand-in `which`; NULL ends that. Its user metadata has `bits` bits, of which the top 16 are the
// frame's size.
void vnp4_bind(int which, void *process, void *sw, unsigned bits);
// What such a program's UserExtern calls (a p4_user_extern_fn): VNP4₁'s CRC-32.
void vnp4_user_extern(void *context, uint32_t number, const uint8_t *in, uint8_t *out);
// Without `answer` each 64 KiB of registers is one word of memory.
void vnp4_set_registers(vnp4_register answer);
// Cycles from a frame's first beat in to its first beat out, and from the question to its answer.
void vnp4_set_latency(unsigned latency, unsigned extern_latency);
// Breaches of the rules by what is around the IPs: metadata not with the first beat, an answer that is wrong
// or comes at a wrong time, a size in the metadata that is not the frame's.
uint64_t vnp4_breaches(void);
#ifdef __cplusplus
}
#endif
#endif
