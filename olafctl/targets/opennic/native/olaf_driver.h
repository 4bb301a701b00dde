// A plain C interface to the driver of one VitisNetP4 IP, for olafctl/targets/opennic/driver.py. Sizes and
// layouts of the driver's own types stay with the compiler that has its headers.
//
// Functions that return int return the driver's own code: 0 is success, olaf_driver_code_name names others.
#ifndef OLAF_DRIVER_H
#define OLAF_DRIVER_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// An access to the IP's registers by the byte offset in its window.
typedef void (*olaf_driver_write)(void *user, uint32_t offset, uint32_t value);
typedef uint32_t (*olaf_driver_read)(void *user, uint32_t offset);
typedef void (*olaf_driver_log)(void *user, int is_error, const char *message);

typedef struct olaf_driver olaf_driver;
typedef struct olaf_table olaf_table;

// Checks that the IP is the one that the driver was made for. NULL in *made unless it returns 0.
int olaf_driver_open(olaf_driver_write write, olaf_driver_read read, olaf_driver_log log, void *user,
                     olaf_driver **made);
void olaf_driver_close(olaf_driver *);
const char *olaf_driver_code_name(int code);

int olaf_driver_tables(olaf_driver *, uint32_t *count);
int olaf_driver_table_at(olaf_driver *, uint32_t index, olaf_table **table);
int olaf_driver_table(olaf_driver *, const char *name, olaf_table **table);
int olaf_table_key_bits(olaf_table *, uint32_t *bits);
int olaf_table_params_bits(olaf_table *, uint32_t *bits);
// 1 in *masked unless the table takes no mask and no priority.
int olaf_table_masked(olaf_table *, int *masked);
int olaf_table_action(olaf_table *, const char *name, uint32_t *action);
int olaf_table_reset(olaf_table *);
int olaf_table_insert(olaf_table *, uint8_t *key, uint8_t *mask, uint32_t priority, uint32_t action,
                      uint8_t *params);
int olaf_table_update(olaf_table *, uint8_t *key, uint8_t *mask, uint32_t action, uint8_t *params);
int olaf_table_delete(olaf_table *, uint8_t *key, uint8_t *mask);
int olaf_table_get(olaf_table *, uint8_t *key, uint8_t *mask, uint32_t *priority, uint32_t *action,
                   uint8_t *params);

// Counters by their place in the driver's list.
uint32_t olaf_driver_counters(olaf_driver *);
const char *olaf_driver_counter_name(olaf_driver *, uint32_t counter);
int olaf_driver_counter_reset(olaf_driver *, uint32_t counter);
// Packets and bytes since the last read.
int olaf_driver_counter_read(olaf_driver *, uint32_t counter, uint32_t index, uint64_t *packets,
                             uint64_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
