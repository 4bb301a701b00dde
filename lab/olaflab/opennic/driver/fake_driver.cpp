// A stand-in for VitisNetP4's driver, after what is documented of it: what it takes, what it refuses and with
// which code, its memory of the entries that it wrote, which is empty after every start. What it writes goes
// to the tables of a simulated IP, over the environment's word accesses.
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "ip_registers.h"
#include "vitisnetp4_target.h"

namespace {

const char *const NAMES[] = {
    "XIL_VITIS_NET_P4_SUCCESS",
    "XIL_VITIS_NET_P4_GENERAL_ERR_NULL_PARAM",
    "XIL_VITIS_NET_P4_GENERAL_ERR_INVALID_CONTEXT",
    "XIL_VITIS_NET_P4_GENERAL_ERR_INTERNAL_ASSERTION",
    "XIL_VITIS_NET_P4_CAM_ERR_DUPLICATE_FOUND",
    "XIL_VITIS_NET_P4_CAM_ERR_KEY_NOT_FOUND",
    "XIL_VITIS_NET_P4_CAM_ERR_FULL",
    "XIL_VITIS_NET_P4_CAM_ERR_MASKED_KEY_BIT_IS_SET",
    "XIL_VITIS_NET_P4_TABLE_ERR_PARAM_NOT_REQUIRED",
    "XIL_VITIS_NET_P4_TABLE_ERR_FUNCTION_NOT_SUPPORTED",
    "XIL_VITIS_NET_P4_TABLE_ERR_ACTION_NOT_FOUND",
    "XIL_VITIS_NET_P4_TABLE_ERR_INVALID_ACTION_ID",
    "XIL_VITIS_NET_P4_TARGET_ERR_INCOMPATIBLE_SW_HW",
    "XIL_VITIS_NET_P4_TARGET_ERR_MALLOC_FAILED",
    "XIL_VITIS_NET_P4_TARGET_ERR_TABLE_NOT_FOUND",
    "XIL_VITIS_NET_P4_COUNTER_ERR_INVALID_INDEX",
};
static_assert(sizeof NAMES / sizeof *NAMES == XIL_VITIS_NET_P4_NUM_RETURN_CODES);

using Bytes = std::vector<uint8_t>;

struct Stored {
    uint32_t priority, action;
    Bytes params;
};

size_t bytes_of(uint32_t bits) { return (bits + 7) / 8; }

bool fits(const uint8_t *data, uint32_t bits) { return bits % 8 == 0 || data[0] >> bits % 8 == 0; }

}  // namespace

struct XilVitisNetP4TableCtx {
    XilVitisNetP4EnvIf *env;
    const XilVitisNetP4TargetTableConfig *config;
    std::map<std::pair<Bytes, Bytes>, Stored> shadow;

    bool masked() const {
        return config->Mode != XIL_VITIS_NET_P4_TABLE_MODE_BCAM &&
               config->Mode != XIL_VITIS_NET_P4_TABLE_MODE_DCAM &&
               config->Mode != XIL_VITIS_NET_P4_TABLE_MODE_TINY_BCAM;
    }

    XilVitisNetP4ReturnType write(uint32_t offset, uint32_t value) const {
        return env->WordWrite32(env, config->BaseAddress + offset, value);
    }

    XilVitisNetP4ReturnType write_bytes(uint32_t offset, const Bytes &bytes) const {
        Bytes padded((bytes.size() + 3) / 4 * 4);
        std::copy(bytes.begin(), bytes.end(), padded.end() - long(bytes.size()));
        for (size_t i = 0; i < padded.size(); i += 4) {
            const uint32_t word = uint32_t(padded[i]) << 24 | uint32_t(padded[i + 1]) << 16 |
                                  uint32_t(padded[i + 2]) << 8 | padded[i + 3];
            if (auto code = write(offset + uint32_t(i), word)) return code;
        }
        return XIL_VITIS_NET_P4_SUCCESS;
    }

    // The hardware's own refusal means that the memory here and the IP have come apart.
    XilVitisNetP4ReturnType command(uint32_t what) const {
        if (auto code = write(TABLE_COMMAND, what)) return code;
        uint32_t error = 0;
        if (auto code = env->WordRead32(env, config->BaseAddress + TABLE_ERROR, &error)) return code;
        return error ? XIL_VITIS_NET_P4_GENERAL_ERR_INTERNAL_ASSERTION : XIL_VITIS_NET_P4_SUCCESS;
    }

    // What every function that names an entry demands of its key and mask.
    XilVitisNetP4ReturnType check(const uint8_t *key, const uint8_t *mask) const {
        if (!key || (masked() && !mask)) return XIL_VITIS_NET_P4_GENERAL_ERR_NULL_PARAM;
        if (!masked() && mask) return XIL_VITIS_NET_P4_TABLE_ERR_PARAM_NOT_REQUIRED;
        if (!fits(key, config->KeyBits)) return XIL_VITIS_NET_P4_GENERAL_ERR_INTERNAL_ASSERTION;
        for (size_t i = 0; masked() && i < bytes_of(config->KeyBits); i++)
            if (key[i] & ~mask[i]) return XIL_VITIS_NET_P4_CAM_ERR_MASKED_KEY_BIT_IS_SET;
        return XIL_VITIS_NET_P4_SUCCESS;
    }

    std::pair<Bytes, Bytes> identity(const uint8_t *key, const uint8_t *mask) const {
        const size_t size = bytes_of(config->KeyBits);
        return {Bytes(key, key + size), mask ? Bytes(mask, mask + size) : Bytes()};
    }

    XilVitisNetP4ReturnType put(uint32_t what, const std::pair<Bytes, Bytes> &identity,
                                const Stored &stored) const {
        write_bytes(TABLE_KEY, identity.first);
        if (masked()) write_bytes(TABLE_MASK, identity.second);
        write_bytes(TABLE_PARAMS, stored.params);
        write(TABLE_PRIORITY, stored.priority);
        write(TABLE_ACTION, stored.action);
        return command(what);
    }
};

namespace {

struct Target {
    std::vector<XilVitisNetP4TableCtx> tables;
};

XilVitisNetP4ReturnType no_write(XilVitisNetP4EnvIf *, XilVitisNetP4AddressType, uint32_t) {
    return XIL_VITIS_NET_P4_GENERAL_ERR_INTERNAL_ASSERTION;
}
XilVitisNetP4ReturnType no_read(XilVitisNetP4EnvIf *, XilVitisNetP4AddressType, uint32_t *) {
    return XIL_VITIS_NET_P4_GENERAL_ERR_INTERNAL_ASSERTION;
}
XilVitisNetP4ReturnType no_log(XilVitisNetP4EnvIf *, const char *) { return XIL_VITIS_NET_P4_SUCCESS; }

}  // namespace

extern "C" {

const char *XilVitisNetP4ReturnTypeToString(XilVitisNetP4ReturnType code) {
    return unsigned(code) < XIL_VITIS_NET_P4_NUM_RETURN_CODES ? NAMES[code]
                                                              : "XIL_VITIS_NET_P4_UNKNOWN_RETURN_CODE";
}

XilVitisNetP4ReturnType XilVitisNetP4StubEnvIf(XilVitisNetP4EnvIf *env) {
    if (!env) return XIL_VITIS_NET_P4_GENERAL_ERR_NULL_PARAM;
    *env = {nullptr, no_write, no_read, no_log, no_log};
    return XIL_VITIS_NET_P4_SUCCESS;
}

XilVitisNetP4ReturnType XilVitisNetP4TargetInit(XilVitisNetP4TargetCtx *context, XilVitisNetP4EnvIf *env,
                                                XilVitisNetP4TargetConfig *config) {
    if (!context || !env || !config) return XIL_VITIS_NET_P4_GENERAL_ERR_NULL_PARAM;
    uint32_t info = 0;
    if (auto code = env->WordRead32(env, IP_BUILD_INFO, &info)) return code;
    if (info != config->BuildInfo) {
        env->LogError(env, "the IP was built with another program than this driver");
        return XIL_VITIS_NET_P4_TARGET_ERR_INCOMPATIBLE_SW_HW;
    }
    auto *target = new Target;
    for (uint32_t i = 0; i < config->TableListSize; i++)
        target->tables.push_back({env, config->TableListPtr[i], {}});
    context->PrivateCtxPtr = target;
    return XIL_VITIS_NET_P4_SUCCESS;
}

XilVitisNetP4ReturnType XilVitisNetP4TargetExit(XilVitisNetP4TargetCtx *context) {
    if (!context || !context->PrivateCtxPtr) return XIL_VITIS_NET_P4_GENERAL_ERR_INVALID_CONTEXT;
    delete static_cast<Target *>(context->PrivateCtxPtr);
    context->PrivateCtxPtr = nullptr;
    return XIL_VITIS_NET_P4_SUCCESS;
}

static std::vector<XilVitisNetP4TableCtx> &tables(XilVitisNetP4TargetCtx *context) {
    return static_cast<Target *>(context->PrivateCtxPtr)->tables;
}

XilVitisNetP4ReturnType XilVitisNetP4TargetGetTableCount(XilVitisNetP4TargetCtx *context, uint32_t *count) {
    if (!context || !count) return XIL_VITIS_NET_P4_GENERAL_ERR_NULL_PARAM;
    *count = uint32_t(tables(context).size());
    return XIL_VITIS_NET_P4_SUCCESS;
}

XilVitisNetP4ReturnType XilVitisNetP4TargetGetTableByIndex(XilVitisNetP4TargetCtx *context, uint32_t index,
                                                           XilVitisNetP4TableCtx **table) {
    if (!context || !table) return XIL_VITIS_NET_P4_GENERAL_ERR_NULL_PARAM;
    if (index >= tables(context).size()) return XIL_VITIS_NET_P4_TARGET_ERR_TABLE_NOT_FOUND;
    *table = &tables(context)[index];
    return XIL_VITIS_NET_P4_SUCCESS;
}

XilVitisNetP4ReturnType XilVitisNetP4TargetGetTableByName(XilVitisNetP4TargetCtx *context, char *name,
                                                          XilVitisNetP4TableCtx **table) {
    if (!context || !name || !table) return XIL_VITIS_NET_P4_GENERAL_ERR_NULL_PARAM;
    for (XilVitisNetP4TableCtx &each : tables(context))
        if (!strcmp(each.config->NameStringPtr, name)) {
            *table = &each;
            return XIL_VITIS_NET_P4_SUCCESS;
        }
    return XIL_VITIS_NET_P4_TARGET_ERR_TABLE_NOT_FOUND;
}

XilVitisNetP4ReturnType XilVitisNetP4TableReset(XilVitisNetP4TableCtx *table) {
    if (!table) return XIL_VITIS_NET_P4_GENERAL_ERR_INVALID_CONTEXT;
    table->shadow.clear();
    return table->command(CLEAR);
}

XilVitisNetP4ReturnType XilVitisNetP4TableInsert(XilVitisNetP4TableCtx *table, uint8_t *key, uint8_t *mask,
                                                 uint32_t priority, uint32_t action, uint8_t *params) {
    if (!table) return XIL_VITIS_NET_P4_GENERAL_ERR_INVALID_CONTEXT;
    if (auto code = table->check(key, mask)) return code;
    if (action >= table->config->Actions) return XIL_VITIS_NET_P4_TABLE_ERR_INVALID_ACTION_ID;
    if (!params) return XIL_VITIS_NET_P4_GENERAL_ERR_NULL_PARAM;
    const auto identity = table->identity(key, mask);
    if (table->shadow.count(identity)) return XIL_VITIS_NET_P4_CAM_ERR_DUPLICATE_FOUND;
    if (table->shadow.size() >= table->config->Entries) return XIL_VITIS_NET_P4_CAM_ERR_FULL;
    const size_t size = bytes_of(table->config->ParamsBits);
    const Stored stored{table->masked() ? priority : 0, action, Bytes(params, params + size)};
    if (auto code = table->put(INSERT, identity, stored)) return code;
    table->shadow[identity] = stored;
    return XIL_VITIS_NET_P4_SUCCESS;
}

XilVitisNetP4ReturnType XilVitisNetP4TableUpdate(XilVitisNetP4TableCtx *table, uint8_t *key, uint8_t *mask,
                                                 uint32_t action, uint8_t *params) {
    if (!table) return XIL_VITIS_NET_P4_GENERAL_ERR_INVALID_CONTEXT;
    if (auto code = table->check(key, mask)) return code;
    if (action >= table->config->Actions) return XIL_VITIS_NET_P4_TABLE_ERR_INVALID_ACTION_ID;
    if (!params) return XIL_VITIS_NET_P4_GENERAL_ERR_NULL_PARAM;
    const auto found = table->shadow.find(table->identity(key, mask));
    if (found == table->shadow.end()) return XIL_VITIS_NET_P4_CAM_ERR_KEY_NOT_FOUND;
    const size_t size = bytes_of(table->config->ParamsBits);
    const Stored stored{found->second.priority, action, Bytes(params, params + size)};
    if (auto code = table->put(UPDATE, found->first, stored)) return code;
    found->second = stored;
    return XIL_VITIS_NET_P4_SUCCESS;
}

XilVitisNetP4ReturnType XilVitisNetP4TableDelete(XilVitisNetP4TableCtx *table, uint8_t *key, uint8_t *mask) {
    if (!table) return XIL_VITIS_NET_P4_GENERAL_ERR_INVALID_CONTEXT;
    if (auto code = table->check(key, mask)) return code;
    const auto found = table->shadow.find(table->identity(key, mask));
    if (found == table->shadow.end()) return XIL_VITIS_NET_P4_CAM_ERR_KEY_NOT_FOUND;
    if (auto code = table->put(DELETE, found->first, found->second)) return code;
    table->shadow.erase(found);
    return XIL_VITIS_NET_P4_SUCCESS;
}

XilVitisNetP4ReturnType XilVitisNetP4TableGetByKey(XilVitisNetP4TableCtx *table, uint8_t *key, uint8_t *mask,
                                                   uint32_t *priority, uint32_t *action, uint8_t *params) {
    if (!table) return XIL_VITIS_NET_P4_GENERAL_ERR_INVALID_CONTEXT;
    if (auto code = table->check(key, mask)) return code;
    if (!action || !params || (table->masked() && !priority)) return XIL_VITIS_NET_P4_GENERAL_ERR_NULL_PARAM;
    const auto found = table->shadow.find(table->identity(key, mask));
    if (found == table->shadow.end()) return XIL_VITIS_NET_P4_CAM_ERR_KEY_NOT_FOUND;
    if (priority) *priority = found->second.priority;
    *action = found->second.action;
    memcpy(params, found->second.params.data(), found->second.params.size());
    return XIL_VITIS_NET_P4_SUCCESS;
}

XilVitisNetP4ReturnType XilVitisNetP4TableGetActionId(XilVitisNetP4TableCtx *table, char *name,
                                                      uint32_t *action) {
    if (!table) return XIL_VITIS_NET_P4_GENERAL_ERR_INVALID_CONTEXT;
    if (!name || !action) return XIL_VITIS_NET_P4_GENERAL_ERR_NULL_PARAM;
    for (uint32_t i = 0; i < table->config->Actions; i++)
        if (!strcmp(table->config->ActionList[i].NameStringPtr, name)) {
            *action = i;
            return XIL_VITIS_NET_P4_SUCCESS;
        }
    return XIL_VITIS_NET_P4_TABLE_ERR_ACTION_NOT_FOUND;
}

XilVitisNetP4ReturnType XilVitisNetP4TableGetMode(XilVitisNetP4TableCtx *table,
                                                  XilVitisNetP4TableMode *mode) {
    if (!table || !mode) return XIL_VITIS_NET_P4_GENERAL_ERR_NULL_PARAM;
    *mode = table->config->Mode;
    return XIL_VITIS_NET_P4_SUCCESS;
}

XilVitisNetP4ReturnType XilVitisNetP4TableGetKeySizeBits(XilVitisNetP4TableCtx *table, uint32_t *bits) {
    if (!table || !bits) return XIL_VITIS_NET_P4_GENERAL_ERR_NULL_PARAM;
    *bits = table->config->KeyBits;
    return XIL_VITIS_NET_P4_SUCCESS;
}

XilVitisNetP4ReturnType XilVitisNetP4TableGetActionParamsSizeBits(XilVitisNetP4TableCtx *table,
                                                                  uint32_t *bits) {
    if (!table || !bits) return XIL_VITIS_NET_P4_GENERAL_ERR_NULL_PARAM;
    *bits = table->config->ParamsBits;
    return XIL_VITIS_NET_P4_SUCCESS;
}

XilVitisNetP4ReturnType XilVitisNetP4CounterInit(XilVitisNetP4CounterCtx *context, XilVitisNetP4EnvIf *env,
                                                 XilVitisNetP4CounterConfig *config) {
    if (!context || !env || !config) return XIL_VITIS_NET_P4_GENERAL_ERR_NULL_PARAM;
    *context = {env, *config};
    return XIL_VITIS_NET_P4_SUCCESS;
}

XilVitisNetP4ReturnType XilVitisNetP4CounterExit(XilVitisNetP4CounterCtx *context) {
    return context ? XIL_VITIS_NET_P4_SUCCESS : XIL_VITIS_NET_P4_GENERAL_ERR_INVALID_CONTEXT;
}

XilVitisNetP4ReturnType XilVitisNetP4CounterReset(XilVitisNetP4CounterCtx *context) {
    XilVitisNetP4EnvIf *env = context->EnvIfPtr;
    return env->WordWrite32(env, context->Config.BaseAddress + COUNTER_COMMAND, COUNTER_CLEAR_ALL);
}

XilVitisNetP4ReturnType XilVitisNetP4CounterComboRead(XilVitisNetP4CounterCtx *context, uint32_t index,
                                                      uint64_t *packets, uint64_t *bytes) {
    if (!context || !packets || !bytes) return XIL_VITIS_NET_P4_GENERAL_ERR_NULL_PARAM;
    if (index >= context->Config.NumCounters) return XIL_VITIS_NET_P4_COUNTER_ERR_INVALID_INDEX;
    XilVitisNetP4EnvIf *env = context->EnvIfPtr;
    const uint32_t base = context->Config.BaseAddress;
    if (auto code = env->WordWrite32(env, base + COUNTER_COMMAND, index)) return code;
    uint32_t words[4] = {};
    for (uint32_t i = 0; i < 4; i++)
        if (auto code = env->WordRead32(env, base + COUNTER_PACKETS + 4 * i, &words[i])) return code;
    *packets = words[0] | uint64_t(words[1]) << 32;
    *bytes = words[2] | uint64_t(words[3]) << 32;
    return XIL_VITIS_NET_P4_SUCCESS;
}
}
