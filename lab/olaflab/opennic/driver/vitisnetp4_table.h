// The tables' part of vitisnetp4_common.h.
#ifndef OLAF_FAKE_VITISNETP4_TABLE_H
#define OLAF_FAKE_VITISNETP4_TABLE_H
#include "vitisnetp4_common.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    XIL_VITIS_NET_P4_TABLE_MODE_TCAM,
    XIL_VITIS_NET_P4_TABLE_MODE_STCAM,
    XIL_VITIS_NET_P4_TABLE_MODE_BCAM,
    XIL_VITIS_NET_P4_TABLE_MODE_DCAM,
    XIL_VITIS_NET_P4_TABLE_MODE_TINY_TCAM,
    XIL_VITIS_NET_P4_TABLE_MODE_TINY_BCAM
} XilVitisNetP4TableMode;

typedef struct XilVitisNetP4TableCtx XilVitisNetP4TableCtx;

XilVitisNetP4ReturnType XilVitisNetP4TableReset(XilVitisNetP4TableCtx *);
XilVitisNetP4ReturnType XilVitisNetP4TableInsert(XilVitisNetP4TableCtx *, uint8_t *key, uint8_t *mask,
                                                 uint32_t priority, uint32_t action, uint8_t *params);
XilVitisNetP4ReturnType XilVitisNetP4TableUpdate(XilVitisNetP4TableCtx *, uint8_t *key, uint8_t *mask,
                                                 uint32_t action, uint8_t *params);
XilVitisNetP4ReturnType XilVitisNetP4TableDelete(XilVitisNetP4TableCtx *, uint8_t *key, uint8_t *mask);
XilVitisNetP4ReturnType XilVitisNetP4TableGetByKey(XilVitisNetP4TableCtx *, uint8_t *key, uint8_t *mask,
                                                   uint32_t *priority, uint32_t *action, uint8_t *params);
XilVitisNetP4ReturnType XilVitisNetP4TableGetActionId(XilVitisNetP4TableCtx *, char *name, uint32_t *action);
XilVitisNetP4ReturnType XilVitisNetP4TableGetMode(XilVitisNetP4TableCtx *, XilVitisNetP4TableMode *);
XilVitisNetP4ReturnType XilVitisNetP4TableGetKeySizeBits(XilVitisNetP4TableCtx *, uint32_t *);
XilVitisNetP4ReturnType XilVitisNetP4TableGetActionParamsSizeBits(XilVitisNetP4TableCtx *, uint32_t *);

#ifdef __cplusplus
}
#endif
#endif
