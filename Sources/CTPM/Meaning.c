#include "Library.h"

#ifdef LK_HAS_TSS2

// The layers that pass on the TPM's own codes: none, a resource manager in user space, one in the kernel.
static int is_from_tpm(TSS2_RC code) {
    TSS2_RC layer = code & TSS2_RC_LAYER_MASK;
    return layer == TSS2_TPM_RC_LAYER || layer == TSS2_RESMGR_TPM_RC_LAYER;
}

lk_tpm_result lk_tpm_meaning(TSS2_RC code, lk_step step) {
    int kind = LK_TPM_OTHER;
    if (code == TSS2_RC_SUCCESS) {
        kind = LK_TPM_DONE;
    } else if ((code & TSS2_RC_LAYER_MASK) == TSS2_TCTI_RC_LAYER || code == TSS2_ESYS_RC_BAD_SEQUENCE) {
        // After a missing response, ESAPI accepts no more commands.
        kind = LK_TPM_NO_DEVICE;
    } else if (is_from_tpm(code)) {
        TSS2_RC plain = code & ~TSS2_RC_LAYER_MASK;
        int is_about_parameter = (plain & TPM2_RC_FMT1) != 0;
        // Part 2, 6.6.2: such a code also says which parameter, handle or session it refers to.
        TSS2_RC error = is_about_parameter ? plain & (TPM2_RC_FMT1 | 0x3f) : plain;
        int is_auth = error == TPM2_RC_AUTH_FAIL || error == TPM2_RC_BAD_AUTH;
        if (error == TPM2_RC_LOCKOUT) {
            kind = LK_TPM_LOCKED_OUT;
        } else if (step == LK_STEP_UNSEAL) {
            if (is_auth) kind = LK_TPM_WRONG_AUTH;
            // The last one is the answer for an object that has no policy at all.
            if (error == TPM2_RC_POLICY_FAIL || error == TPM2_RC_PCR_CHANGED || error == TPM2_RC_AUTH_UNAVAILABLE)
                kind = LK_TPM_PCRS_DIFFER;
        } else if (step == LK_STEP_DEFINE) {
            if (is_auth) kind = LK_TPM_OWNER_PASSWORD;
            if (error == TPM2_RC_NV_SPACE) kind = LK_TPM_NO_ROOM;
        } else if (step == LK_STEP_COUNTER) {
            if (is_auth) kind = LK_TPM_WRONG_AUTH;
            if (error == TPM2_RC_HANDLE || error == TPM2_RC_NV_UNINITIALIZED) kind = LK_TPM_NO_COUNTER;
        } else if (is_auth) {
            // The other steps authorize only the use of the storage key or its hierarchy.
            kind = LK_TPM_NO_STORAGE_KEY;
        } else if (step == LK_STEP_STORAGE_KEY && error == TPM2_RC_HIERARCHY) {
            kind = LK_TPM_NO_STORAGE_KEY;
        } else if (step == LK_STEP_LOAD && is_about_parameter) {
            // TPM_RC_INTEGRITY, and any other error in an invalid public area.
            kind = LK_TPM_FOREIGN;
        }
    }
    return (lk_tpm_result){kind, code};
}

#endif
