// What VitisNetP4's driver documents of its interface, as far as olaf_driver.c uses it: our own declaration,
// for the stand-in of fake_driver.cpp. Layouts and codes' numbers are the stand-in's.
#ifndef OLAF_FAKE_VITISNETP4_COMMON_H
#define OLAF_FAKE_VITISNETP4_COMMON_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    XIL_VITIS_NET_P4_SUCCESS = 0,
    XIL_VITIS_NET_P4_GENERAL_ERR_NULL_PARAM,
    XIL_VITIS_NET_P4_GENERAL_ERR_INVALID_CONTEXT,
    XIL_VITIS_NET_P4_GENERAL_ERR_INTERNAL_ASSERTION,
    XIL_VITIS_NET_P4_CAM_ERR_DUPLICATE_FOUND,
    XIL_VITIS_NET_P4_CAM_ERR_KEY_NOT_FOUND,
    XIL_VITIS_NET_P4_CAM_ERR_FULL,
    XIL_VITIS_NET_P4_CAM_ERR_MASKED_KEY_BIT_IS_SET,
    XIL_VITIS_NET_P4_TABLE_ERR_PARAM_NOT_REQUIRED,
    XIL_VITIS_NET_P4_TABLE_ERR_FUNCTION_NOT_SUPPORTED,
    XIL_VITIS_NET_P4_TABLE_ERR_ACTION_NOT_FOUND,
    XIL_VITIS_NET_P4_TABLE_ERR_INVALID_ACTION_ID,
    XIL_VITIS_NET_P4_TARGET_ERR_INCOMPATIBLE_SW_HW,
    XIL_VITIS_NET_P4_TARGET_ERR_MALLOC_FAILED,
    XIL_VITIS_NET_P4_TARGET_ERR_TABLE_NOT_FOUND,
    XIL_VITIS_NET_P4_COUNTER_ERR_INVALID_INDEX,
    XIL_VITIS_NET_P4_NUM_RETURN_CODES
} XilVitisNetP4ReturnType;

typedef uint32_t XilVitisNetP4AddressType;
typedef void *XilVitisNetP4UserCtxType;
typedef struct XilVitisNetP4EnvIf XilVitisNetP4EnvIf;
typedef XilVitisNetP4ReturnType (*XilVitisNetP4WordWrite32Fp)(XilVitisNetP4EnvIf *, XilVitisNetP4AddressType,
                                                              uint32_t);
typedef XilVitisNetP4ReturnType (*XilVitisNetP4WordRead32Fp)(XilVitisNetP4EnvIf *, XilVitisNetP4AddressType,
                                                             uint32_t *);
typedef XilVitisNetP4ReturnType (*XilVitisNetP4LogFp)(XilVitisNetP4EnvIf *, const char *);

struct XilVitisNetP4EnvIf {
    XilVitisNetP4UserCtxType UserCtx;
    XilVitisNetP4WordWrite32Fp WordWrite32;
    XilVitisNetP4WordRead32Fp WordRead32;
    XilVitisNetP4LogFp LogError;
    XilVitisNetP4LogFp LogInfo;
};

const char *XilVitisNetP4ReturnTypeToString(XilVitisNetP4ReturnType);
XilVitisNetP4ReturnType XilVitisNetP4StubEnvIf(XilVitisNetP4EnvIf *);

#ifdef __cplusplus
}
#endif
#endif
