#define _GNU_SOURCE
#include "Library.h"

#ifdef LK_HAS_TSS2
#include "CCrypto.h"
#include <string.h>

typedef struct {
    TPM2B_PUBLIC area;
    TPM2B_PRIVATE private_part;
} parts;

// Whether both parts are complete and of sealed data. The TPM checks everything else when it loads them.
static int read_parts(const lk_tpm_sealed *sealed, parts *parts) {
    size_t public_end = 0, private_end = 0;
    if (sealed->public_count > LK_TPM_PART_MAX || sealed->private_count > LK_TPM_PART_MAX) return 0;
    return lk_tss2.Tss2_MU_TPM2B_PUBLIC_Unmarshal(sealed->public_part, sealed->public_count, &public_end,
                                                  &parts->area) == TSS2_RC_SUCCESS &&
           lk_tss2.Tss2_MU_TPM2B_PRIVATE_Unmarshal(sealed->private_part, sealed->private_count, &private_end,
                                                   &parts->private_part) == TSS2_RC_SUCCESS &&
           public_end == sealed->public_count && private_end == sealed->private_count &&
           parts->area.publicArea.type == TPM2_ALG_KEYEDHASH;
}

static TSS2_RC take(lk_tpm *tpm, ESYS_TR object, ESYS_TR session, uint8_t *secret, size_t *count) {
    TPM2B_SENSITIVE_DATA *data = NULL;
    TSS2_RC code = lk_tss2.Esys_Unseal(tpm->esys, object, session, ESYS_TR_NONE, ESYS_TR_NONE, &data);
    lk_wipe_response(tpm);
    if (code != TSS2_RC_SUCCESS) return code;
    if (data->size > LK_TPM_SECRET_MAX) {
        code = TSS2_ESYS_RC_BAD_SIZE;
    } else {
        memcpy(secret, data->buffer, data->size);
        *count = data->size;
    }
    lk_wipe_free(data, sizeof *data);
    return code;
}

// Unseals a loaded object, under the storage's session or, if it has a policy, under one that satisfies it.
static TSS2_RC unseal_loaded(lk_tpm *tpm, const lk_storage *storage, const parts *parts, ESYS_TR object,
                             const lk_tpm_access *access, uint8_t *secret, size_t *count) {
    int has_policy = parts->area.publicArea.authPolicy.size != 0 || access->pcrs != 0;
    TSS2_RC code = TSS2_RC_SUCCESS;
    ESYS_TR policy = ESYS_TR_NONE;
    if (has_policy) {
        int with_auth = (parts->area.publicArea.objectAttributes & TPMA_OBJECT_NODA) == 0;
        code = lk_session_start(tpm, storage->key, TPM2_SE_POLICY, &policy);
        if (code == TSS2_RC_SUCCESS) code = lk_policy_build(tpm, policy, ESYS_TR_NONE, access->pcrs, with_auth);
        if (code != TSS2_RC_SUCCESS) {
            lk_flush(tpm, &policy);
            return code;
        }
    }
    ESYS_TR session = has_policy ? policy : storage->session;
    if (access->auth_count > 0) {
        TPM2B_AUTH auth = {.size = (UINT16)access->auth_count};
        memcpy(auth.buffer, access->auth, access->auth_count);
        code = lk_tss2.Esys_TR_SetAuth(tpm->esys, object, &auth);
        explicit_bzero(&auth, sizeof auth);
    }
    if (code == TSS2_RC_SUCCESS) code = take(tpm, object, session, secret, count);
    if (access->auth_count > 0) lk_wipe_auth(tpm, object, session, storage, &parts->area, &parts->private_part);
    lk_flush(tpm, &policy);
    return code;
}

__attribute__((noinline)) static lk_tpm_result unseal(lk_tpm *tpm, const lk_tpm_sealed *sealed,
                                                      const lk_tpm_access *access, uint8_t *secret, size_t *count) {
    parts parts = {0};
    if (!read_parts(sealed, &parts)) return (lk_tpm_result){LK_TPM_FOREIGN, 0};

    lk_storage storage;
    lk_tpm_result result = lk_storage_open(tpm, &storage);
    if (result.kind == LK_TPM_DONE) {
        ESYS_TR object = ESYS_TR_NONE;
        TSS2_RC code = lk_tss2.Esys_Load(tpm->esys, storage.key, storage.session, ESYS_TR_NONE, ESYS_TR_NONE,
                                         &parts.private_part, &parts.area, &object);
        result = lk_tpm_meaning(code, LK_STEP_LOAD);
        if (result.kind == LK_TPM_DONE) {
            int has_auth = (parts.area.publicArea.objectAttributes & TPMA_OBJECT_NODA) == 0;
            if (has_auth != (access->auth_count > 0)) {
                // A missing value would count as a wrong one. A superfluous value would satisfy the policy, but then
                // the response would be decrypted with a key that differs from the TPM's.
                result = (lk_tpm_result){LK_TPM_WRONG_AUTH, TPM2_RC_BAD_AUTH};
            } else {
                code = unseal_loaded(tpm, &storage, &parts, object, access, secret, count);
                result = lk_tpm_meaning(code, LK_STEP_UNSEAL);
            }
            lk_flush(tpm, &object);
        }
    }
    lk_storage_close(tpm, &storage);
    return result;
}

lk_tpm_result lk_tpm_unseal(lk_tpm *tpm, const lk_tpm_sealed *sealed, const lk_tpm_access *access,
                            uint8_t secret[LK_TPM_SECRET_MAX], size_t *count) {
    *count = 0;
    if (access->auth_count > LK_TPM_AUTH_MAX || access->pcrs >> 24 != 0)
        return (lk_tpm_result){LK_TPM_OTHER, TSS2_ESYS_RC_BAD_VALUE};
    lk_tpm_result result = unseal(tpm, sealed, access, secret, count);
    lk_wipe_stack();
    return result;
}

#endif
