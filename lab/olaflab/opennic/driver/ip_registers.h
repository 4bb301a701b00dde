// How the registers of the simulated IPs are laid out: between fake_driver.cpp and
// lab/olaflab/opennic/ ip_registers.py alone. The real IP's are known to its own driver only.
#pragma once
#include <stdint.h>

enum {
    PAGE = 8192,        // of a table or a counter, as VitisNetP4 has it; the first page is the IP's own
    IP_BUILD_INFO = 4,  // at 0 is a word that keeps what is written to it
    TABLE_KEY = 0x000,  // big-endian, 32 bits a word
    TABLE_MASK = 0x100,
    TABLE_PARAMS = 0x200,
    TABLE_PRIORITY = 0x300,
    TABLE_ACTION = 0x304,
    TABLE_COMMAND = 0x308,   // one of the commands; acts at once
    TABLE_ERROR = 0x30c,     // 1: the last command did not fit the table's contents
    COUNTER_COMMAND = 0x00,  // COUNTER_CLEAR_ALL, or an index: takes its counts and zeroes them
    COUNTER_PACKETS = 0x10,  // two words, the low one first
    COUNTER_BYTES = 0x18,
};
enum { INSERT = 1, UPDATE = 2, DELETE = 3, CLEAR = 4 };
#define COUNTER_CLEAR_ALL 0xffffffffu
