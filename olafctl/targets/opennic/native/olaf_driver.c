// olaf_driver.h over the driver that VitisNetP4 generates for the IP named by the macro OLAF_IP. Compiled
// with that driver's headers, as C or C++.
#include "olaf_driver.h"

#include <stdlib.h>

#include "vitisnetp4_common.h"
#include "vitisnetp4_table.h"
#include "vitisnetp4_target.h"

#define OLAF_JOIN(a, b) a##b
#define OLAF_CONFIG_OF(ip) OLAF_JOIN(XilVitisNetP4TargetConfig_, ip)

#ifdef __cplusplus
extern "C" {
#endif

extern XilVitisNetP4TargetConfig OLAF_CONFIG_OF(OLAF_IP);

struct olaf_driver {
    XilVitisNetP4EnvIf environment;
    XilVitisNetP4TargetCtx target;
    XilVitisNetP4CounterCtx *counters;
    olaf_driver_write write;
    olaf_driver_read read;
    olaf_driver_log log;
    void *user;
};

static XilVitisNetP4ReturnType write_word(XilVitisNetP4EnvIf *env, XilVitisNetP4AddressType address,
                                          uint32_t value) {
    olaf_driver *driver = (olaf_driver *)env->UserCtx;
    driver->write(driver->user, (uint32_t)address, value);
    return XIL_VITIS_NET_P4_SUCCESS;
}

static XilVitisNetP4ReturnType read_word(XilVitisNetP4EnvIf *env, XilVitisNetP4AddressType address,
                                         uint32_t *value) {
    olaf_driver *driver = (olaf_driver *)env->UserCtx;
    *value = driver->read(driver->user, (uint32_t)address);
    return XIL_VITIS_NET_P4_SUCCESS;
}

static XilVitisNetP4ReturnType log_error(XilVitisNetP4EnvIf *env, const char *message) {
    olaf_driver *driver = (olaf_driver *)env->UserCtx;
    driver->log(driver->user, 1, message);
    return XIL_VITIS_NET_P4_SUCCESS;
}

static XilVitisNetP4ReturnType log_info(XilVitisNetP4EnvIf *env, const char *message) {
    olaf_driver *driver = (olaf_driver *)env->UserCtx;
    driver->log(driver->user, 0, message);
    return XIL_VITIS_NET_P4_SUCCESS;
}

static XilVitisNetP4ReturnType open_counters(olaf_driver *driver) {
    XilVitisNetP4TargetConfig *config = &OLAF_CONFIG_OF(OLAF_IP);
    XilVitisNetP4ReturnType code = XIL_VITIS_NET_P4_SUCCESS;
    driver->counters =
        (XilVitisNetP4CounterCtx *)calloc(config->CounterListSize + 1, sizeof *driver->counters);
    if (!driver->counters) return XIL_VITIS_NET_P4_TARGET_ERR_MALLOC_FAILED;
    for (uint32_t i = 0; i < config->CounterListSize && code == XIL_VITIS_NET_P4_SUCCESS; i++)
        code = XilVitisNetP4CounterInit(&driver->counters[i], &driver->environment,
                                        &config->CounterListPtr[i]->Config);
    return code;
}

int olaf_driver_open(olaf_driver_write write, olaf_driver_read read, olaf_driver_log log, void *user,
                     olaf_driver **made) {
    *made = NULL;
    olaf_driver *driver = (olaf_driver *)calloc(1, sizeof *driver);
    if (!driver) return XIL_VITIS_NET_P4_TARGET_ERR_MALLOC_FAILED;
    driver->write = write;
    driver->read = read;
    driver->log = log;
    driver->user = user;
    XilVitisNetP4ReturnType code = XilVitisNetP4StubEnvIf(&driver->environment);
    if (code == XIL_VITIS_NET_P4_SUCCESS) {
        driver->environment.UserCtx = (XilVitisNetP4UserCtxType)driver;
        driver->environment.WordWrite32 = write_word;
        driver->environment.WordRead32 = read_word;
        driver->environment.LogError = log_error;
        driver->environment.LogInfo = log_info;
        code = XilVitisNetP4TargetInit(&driver->target, &driver->environment, &OLAF_CONFIG_OF(OLAF_IP));
    }
    if (code == XIL_VITIS_NET_P4_SUCCESS) {
        code = open_counters(driver);
        if (code != XIL_VITIS_NET_P4_SUCCESS) XilVitisNetP4TargetExit(&driver->target);
    }
    if (code != XIL_VITIS_NET_P4_SUCCESS) {
        free(driver->counters);
        free(driver);
        return (int)code;
    }
    *made = driver;
    return 0;
}

void olaf_driver_close(olaf_driver *driver) {
    for (uint32_t i = 0; i < olaf_driver_counters(driver); i++)
        XilVitisNetP4CounterExit(&driver->counters[i]);
    XilVitisNetP4TargetExit(&driver->target);
    free(driver->counters);
    free(driver);
}

const char *olaf_driver_code_name(int code) {
    return XilVitisNetP4ReturnTypeToString((XilVitisNetP4ReturnType)code);
}

int olaf_driver_tables(olaf_driver *driver, uint32_t *count) {
    return (int)XilVitisNetP4TargetGetTableCount(&driver->target, count);
}

int olaf_driver_table_at(olaf_driver *driver, uint32_t index, olaf_table **table) {
    return (int)XilVitisNetP4TargetGetTableByIndex(&driver->target, index, (XilVitisNetP4TableCtx **)table);
}

int olaf_driver_table(olaf_driver *driver, const char *name, olaf_table **table) {
    return (int)XilVitisNetP4TargetGetTableByName(&driver->target, (char *)name,
                                                  (XilVitisNetP4TableCtx **)table);
}

static XilVitisNetP4TableCtx *context(olaf_table *table) { return (XilVitisNetP4TableCtx *)table; }

int olaf_table_key_bits(olaf_table *table, uint32_t *bits) {
    return (int)XilVitisNetP4TableGetKeySizeBits(context(table), bits);
}

int olaf_table_params_bits(olaf_table *table, uint32_t *bits) {
    return (int)XilVitisNetP4TableGetActionParamsSizeBits(context(table), bits);
}

int olaf_table_masked(olaf_table *table, int *masked) {
    XilVitisNetP4TableMode mode;
    XilVitisNetP4ReturnType code = XilVitisNetP4TableGetMode(context(table), &mode);
    *masked = mode != XIL_VITIS_NET_P4_TABLE_MODE_DCAM && mode != XIL_VITIS_NET_P4_TABLE_MODE_BCAM &&
              mode != XIL_VITIS_NET_P4_TABLE_MODE_TINY_BCAM;
    return (int)code;
}

int olaf_table_action(olaf_table *table, const char *name, uint32_t *action) {
    return (int)XilVitisNetP4TableGetActionId(context(table), (char *)name, action);
}

int olaf_table_reset(olaf_table *table) { return (int)XilVitisNetP4TableReset(context(table)); }

int olaf_table_insert(olaf_table *table, uint8_t *key, uint8_t *mask, uint32_t priority, uint32_t action,
                      uint8_t *params) {
    return (int)XilVitisNetP4TableInsert(context(table), key, mask, priority, action, params);
}

int olaf_table_update(olaf_table *table, uint8_t *key, uint8_t *mask, uint32_t action, uint8_t *params) {
    return (int)XilVitisNetP4TableUpdate(context(table), key, mask, action, params);
}

int olaf_table_delete(olaf_table *table, uint8_t *key, uint8_t *mask) {
    return (int)XilVitisNetP4TableDelete(context(table), key, mask);
}

int olaf_table_get(olaf_table *table, uint8_t *key, uint8_t *mask, uint32_t *priority, uint32_t *action,
                   uint8_t *params) {
    return (int)XilVitisNetP4TableGetByKey(context(table), key, mask, priority, action, params);
}

uint32_t olaf_driver_counters(olaf_driver *driver) {
    (void)driver;
    return OLAF_CONFIG_OF(OLAF_IP).CounterListSize;
}

const char *olaf_driver_counter_name(olaf_driver *driver, uint32_t counter) {
    (void)driver;
    return OLAF_CONFIG_OF(OLAF_IP).CounterListPtr[counter]->NameStringPtr;
}

int olaf_driver_counter_reset(olaf_driver *driver, uint32_t counter) {
    return (int)XilVitisNetP4CounterReset(&driver->counters[counter]);
}

int olaf_driver_counter_read(olaf_driver *driver, uint32_t counter, uint32_t index, uint64_t *packets,
                             uint64_t *bytes) {
    return (int)XilVitisNetP4CounterComboRead(&driver->counters[counter], index, packets, bytes);
}

#ifdef __cplusplus
}
#endif
