#define _GNU_SOURCE
#include "Library.h"

#ifdef LK_HAS_TSS2
#include <string.h>

void lk_wipe_free(void *bytes, size_t count) {
    if (bytes == NULL) return;
    explicit_bzero(bytes, count);
    lk_tss2.Esys_Free(bytes);
}

void lk_wipe_created(lk_tpm *tpm, ESYS_TR session, const TPM2B_PUBLIC *area) {
    // The call copies these inputs over the earlier ones, and only then finds that the parent does not exist.
    const ESYS_TR nobody = UINT32_MAX;
    const TPM2B_SENSITIVE_CREATE zeros = {0};
    const TPM2B_DATA no_info = {0};
    const TPML_PCR_SELECTION no_pcrs = {0};
    lk_tss2.Esys_Create_Async(tpm->esys, nobody, session, ESYS_TR_NONE, ESYS_TR_NONE, &zeros, area, &no_info, &no_pcrs);
}

void lk_wipe_response(lk_tpm *tpm) {
    static const uint8_t zeros[TPM2_MAX_RESPONSE_SIZE];
    TSS2_SYS_CONTEXT *sys = NULL;
    size_t count;
    const uint8_t *start;
    if (lk_tss2.Esys_GetSysContext(tpm->esys, &sys) == TSS2_RC_SUCCESS &&
        lk_tss2.Tss2_Sys_GetEncryptParam(sys, &count, &start) == TSS2_RC_SUCCESS && count <= sizeof zeros)
        lk_tss2.Tss2_Sys_SetEncryptParam(sys, count, zeros);
}

void lk_wipe_auth(lk_tpm *tpm, ESYS_TR object, ESYS_TR session, const lk_storage *storage, const TPM2B_PUBLIC *area,
                  const TPM2B_PRIVATE *private_part) {
    TPM2B_AUTH filler = {.size = LK_TPM_AUTH_MAX};
    memset(filler.buffer, 0xff, filler.size);
    lk_tss2.Esys_TR_SetAuth(tpm->esys, object, &filler);

    // The session keeps the value until it is used with another one. The storage key does not count wrong values, so
    // the TPM refuses this command without consequences.
    lk_tss2.Esys_TR_SetAuth(tpm->esys, storage->key, &filler);
    ESYS_TR loaded = ESYS_TR_NONE;
    if (lk_tss2.Esys_Load(tpm->esys, storage->key, session, ESYS_TR_NONE, ESYS_TR_NONE, private_part, area, &loaded) ==
        TSS2_RC_SUCCESS)
        lk_flush(tpm, &loaded);
    lk_tss2.Esys_TR_SetAuth(tpm->esys, storage->key, NULL);
}

void lk_wipe_defined(lk_tpm *tpm, ESYS_TR session, const TPM2B_NV_PUBLIC *area) {
    const ESYS_TR nobody = UINT32_MAX;
    const TPM2B_AUTH zeros = {0};
    lk_tss2.Esys_NV_DefineSpace_Async(tpm->esys, nobody, session, ESYS_TR_NONE, ESYS_TR_NONE, &zeros, area);
}

void lk_wipe_counter(lk_tpm *tpm, ESYS_TR counter, ESYS_TR session) {
    TPM2B_AUTH filler = {.size = LK_TPM_AUTH_MAX};
    memset(filler.buffer, 0xff, filler.size);
    lk_tss2.Esys_TR_SetAuth(tpm->esys, counter, &filler);
    // The session keeps the value until it is used with another one. For a counter the TPM does not count wrong values,
    // so it refuses this command without consequences.
    TPM2B_MAX_NV_BUFFER *data = NULL;
    if (lk_tss2.Esys_NV_Read(tpm->esys, counter, counter, session, ESYS_TR_NONE, ESYS_TR_NONE, 8, 0, &data) ==
        TSS2_RC_SUCCESS)
        lk_tss2.Esys_Free(data);
}

#endif
