// The target's and the counters' part of vitisnetp4_common.h, and the configuration that the stand-in is
// generated with.
#ifndef OLAF_FAKE_VITISNETP4_TARGET_H
#define OLAF_FAKE_VITISNETP4_TARGET_H
#include "vitisnetp4_common.h"
#include "vitisnetp4_table.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const char *NameStringPtr;
    uint32_t ParamBits;
} XilVitisNetP4TargetActionConfig;

typedef struct {
    const char *NameStringPtr;
    XilVitisNetP4TableMode Mode;
    XilVitisNetP4AddressType BaseAddress;
    uint32_t KeyBits, ParamsBits, Entries, Actions;
    const XilVitisNetP4TargetActionConfig *ActionList;
} XilVitisNetP4TargetTableConfig;

typedef struct {
    XilVitisNetP4AddressType BaseAddress;
    uint32_t NumCounters;
} XilVitisNetP4CounterConfig;

typedef struct {
    const char *NameStringPtr;
    XilVitisNetP4CounterConfig Config;
} XilVitisNetP4TargetCounterConfig;

typedef struct {
    uint32_t BuildInfo;  // what the IP's build information must read
    uint32_t TableListSize;
    XilVitisNetP4TargetTableConfig **TableListPtr;
    uint32_t CounterListSize;
    XilVitisNetP4TargetCounterConfig **CounterListPtr;
} XilVitisNetP4TargetConfig;

typedef struct {
    void *PrivateCtxPtr;
} XilVitisNetP4TargetCtx;

typedef struct {
    XilVitisNetP4EnvIf *EnvIfPtr;
    XilVitisNetP4CounterConfig Config;
} XilVitisNetP4CounterCtx;

XilVitisNetP4ReturnType XilVitisNetP4TargetInit(XilVitisNetP4TargetCtx *, XilVitisNetP4EnvIf *,
                                                XilVitisNetP4TargetConfig *);
XilVitisNetP4ReturnType XilVitisNetP4TargetExit(XilVitisNetP4TargetCtx *);
XilVitisNetP4ReturnType XilVitisNetP4TargetGetTableCount(XilVitisNetP4TargetCtx *, uint32_t *);
XilVitisNetP4ReturnType XilVitisNetP4TargetGetTableByIndex(XilVitisNetP4TargetCtx *, uint32_t index,
                                                           XilVitisNetP4TableCtx **);
XilVitisNetP4ReturnType XilVitisNetP4TargetGetTableByName(XilVitisNetP4TargetCtx *, char *name,
                                                          XilVitisNetP4TableCtx **);

XilVitisNetP4ReturnType XilVitisNetP4CounterInit(XilVitisNetP4CounterCtx *, XilVitisNetP4EnvIf *,
                                                 XilVitisNetP4CounterConfig *);
XilVitisNetP4ReturnType XilVitisNetP4CounterExit(XilVitisNetP4CounterCtx *);
XilVitisNetP4ReturnType XilVitisNetP4CounterReset(XilVitisNetP4CounterCtx *);
XilVitisNetP4ReturnType XilVitisNetP4CounterComboRead(XilVitisNetP4CounterCtx *, uint32_t index,
                                                      uint64_t *packets, uint64_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
