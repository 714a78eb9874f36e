#define _GNU_SOURCE
#include "Library.h"

#ifdef LK_HAS_TSS2
#include "CCrypto.h"
#include <string.h>

// A counter index: TPM 2.0 part 1, 37.2. Only the holder of its value reads and increments it, not the owner; the
// value is random, so the dictionary attack protection would only let others lock it.
static const TPMA_NV attributes =
    TPM2_NT_COUNTER << TPMA_NV_TPM2_NT_SHIFT | TPMA_NV_AUTHREAD | TPMA_NV_AUTHWRITE | TPMA_NV_NO_DA;

// The owner's indices: TCG Registry of Reserved TPM 2.0 Handles and Localities.
static const TPM2_HANDLE first_index = 0x01800000, last_index = 0x01bfffff;

enum { value_size = 8, most_collisions = 16 };

static TPM2B_NV_PUBLIC public_area(TPM2_HANDLE index) {
    return (TPM2B_NV_PUBLIC){
        .nvPublic = {.nvIndex = index, .nameAlg = TPM2_ALG_SHA256, .attributes = attributes, .dataSize = value_size},
    };
}

static TPM2B_AUTH authorization(const uint8_t auth[LK_TPM_AUTH_MAX]) {
    TPM2B_AUTH made = {.size = LK_TPM_AUTH_MAX};
    memcpy(made.buffer, auth, LK_TPM_AUTH_MAX);
    return made;
}

// At a random index. The value goes to the TPM encrypted, as the command's first parameter.
static TSS2_RC define(
    lk_tpm *tpm, const lk_storage *storage, const uint8_t auth[LK_TPM_AUTH_MAX], uint32_t *index, ESYS_TR *counter) {
    TPM2B_AUTH value = authorization(auth);
    TPM2B_NV_PUBLIC area;
    TSS2_RC code = TPM2_RC_NV_DEFINED;
    for (int i = 0; i < most_collisions && (code & ~TSS2_RC_LAYER_MASK) == TPM2_RC_NV_DEFINED; i++) {
        lk_random(index, sizeof *index);
        *index = first_index + *index % (last_index - first_index + 1);
        area = public_area(*index);
        code = lk_tss2.Esys_NV_DefineSpace(tpm->esys, ESYS_TR_RH_OWNER, storage->session, ESYS_TR_NONE, ESYS_TR_NONE,
                                           &value, &area, counter);
    }
    explicit_bzero(&value, sizeof value);
    lk_wipe_defined(tpm, storage->session, &area);
    if (code != TSS2_RC_SUCCESS) *counter = ESYS_TR_NONE;
    return code;
}

static TSS2_RC undefine(lk_tpm *tpm, const lk_storage *storage, ESYS_TR *counter) {
    TSS2_RC code = lk_tss2.Esys_NV_UndefineSpace(
        tpm->esys, ESYS_TR_RH_OWNER, *counter, storage->session, ESYS_TR_NONE, ESYS_TR_NONE);
    if (code == TSS2_RC_SUCCESS) *counter = ESYS_TR_NONE;
    return code;
}

// Finds a counter that `define` has made, by its index alone: an index with other attributes is never used, since a
// wrong value for it might count as an attack.
static lk_tpm_result find(lk_tpm *tpm, uint32_t index, ESYS_TR *counter) {
    if (index < first_index || index > last_index) return (lk_tpm_result){LK_TPM_NO_COUNTER, 0};
    TSS2_RC code =
        lk_tss2.Esys_TR_FromTPMPublic(tpm->esys, index, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, counter);
    if (code != TSS2_RC_SUCCESS) {
        *counter = ESYS_TR_NONE;
        return lk_tpm_meaning(code, LK_STEP_COUNTER);
    }
    TPM2B_NV_PUBLIC *area = NULL;
    code = lk_tss2.Esys_NV_ReadPublic(tpm->esys, *counter, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, &area, NULL);
    lk_tpm_result result = lk_tpm_meaning(code, LK_STEP_COUNTER);
    if (code == TSS2_RC_SUCCESS) {
        if (area->nvPublic.attributes != (attributes | TPMA_NV_WRITTEN) || area->nvPublic.dataSize != value_size)
            result.kind = LK_TPM_NO_COUNTER;
        lk_tss2.Esys_Free(area);
    }
    return result;
}

static TSS2_RC read_value(lk_tpm *tpm, const lk_storage *storage, ESYS_TR counter, uint64_t *value) {
    TPM2B_MAX_NV_BUFFER *data = NULL;
    TSS2_RC code = lk_tss2.Esys_NV_Read(
        tpm->esys, counter, counter, storage->session, ESYS_TR_NONE, ESYS_TR_NONE, value_size, 0, &data);
    if (code != TSS2_RC_SUCCESS) return code;
    if (data->size != value_size) {
        code = TSS2_ESYS_RC_BAD_SIZE;
    } else {
        *value = 0;
        for (int i = 0; i < value_size; i++) *value = *value << 8 | data->buffer[i];
    }
    lk_tss2.Esys_Free(data);
    return code;
}

static TSS2_RC increment(lk_tpm *tpm, const lk_storage *storage, ESYS_TR counter, uint32_t steps) {
    TSS2_RC code = TSS2_RC_SUCCESS;
    for (uint32_t i = 0; i < steps && code == TSS2_RC_SUCCESS; i++)
        code = lk_tss2.Esys_NV_Increment(
            tpm->esys, counter, counter, storage->session, ESYS_TR_NONE, ESYS_TR_NONE);
    return code;
}

__attribute__((noinline)) static lk_tpm_result make(
    lk_tpm *tpm, const uint8_t auth[LK_TPM_AUTH_MAX], uint32_t *index, uint64_t *value) {
    lk_storage storage;
    lk_tpm_result result = lk_storage_open(tpm, &storage);
    if (result.kind == LK_TPM_DONE) {
        ESYS_TR counter = ESYS_TR_NONE;
        result = lk_tpm_meaning(define(tpm, &storage, auth, index, &counter), LK_STEP_DEFINE);
        if (result.kind == LK_TPM_DONE) {
            // Before its first increment a counter cannot be read.
            TSS2_RC code = increment(tpm, &storage, counter, 1);
            if (code == TSS2_RC_SUCCESS) code = read_value(tpm, &storage, counter, value);
            result = lk_tpm_meaning(code, LK_STEP_COUNTER);
            lk_wipe_counter(tpm, counter, storage.session);
            if (code != TSS2_RC_SUCCESS) undefine(tpm, &storage, &counter);
        }
        if (counter != ESYS_TR_NONE) lk_tss2.Esys_TR_Close(tpm->esys, &counter);
    }
    lk_storage_close(tpm, &storage);
    return result;
}

// Increments an existing counter, reads it, and removes it if asked: only who knows its value removes it.
__attribute__((noinline)) static lk_tpm_result use(lk_tpm *tpm, uint32_t index, const uint8_t auth[LK_TPM_AUTH_MAX],
                                                   uint32_t steps, uint64_t *value, int is_last_use) {
    lk_storage storage;
    lk_tpm_result result = lk_storage_open(tpm, &storage);
    if (result.kind == LK_TPM_DONE) {
        ESYS_TR counter = ESYS_TR_NONE;
        result = find(tpm, index, &counter);
        if (result.kind == LK_TPM_DONE) {
            TPM2B_AUTH copy = authorization(auth);
            TSS2_RC code = lk_tss2.Esys_TR_SetAuth(tpm->esys, counter, &copy);
            explicit_bzero(&copy, sizeof copy);
            if (code == TSS2_RC_SUCCESS) code = increment(tpm, &storage, counter, steps);
            if (code == TSS2_RC_SUCCESS) code = read_value(tpm, &storage, counter, value);
            result = lk_tpm_meaning(code, LK_STEP_COUNTER);
            lk_wipe_counter(tpm, counter, storage.session);
            if (is_last_use && result.kind == LK_TPM_DONE)
                result = lk_tpm_meaning(undefine(tpm, &storage, &counter), LK_STEP_DEFINE);
        }
        if (counter != ESYS_TR_NONE) lk_tss2.Esys_TR_Close(tpm->esys, &counter);
    }
    lk_storage_close(tpm, &storage);
    return result;
}

lk_tpm_result lk_tpm_counter_make(
    lk_tpm *tpm, const uint8_t auth[LK_TPM_AUTH_MAX], uint32_t *index, uint64_t *value) {
    lk_tpm_result result = make(tpm, auth, index, value);
    lk_wipe_stack();
    return result;
}

lk_tpm_result lk_tpm_counter_increment(
    lk_tpm *tpm, uint32_t index, const uint8_t auth[LK_TPM_AUTH_MAX], uint32_t steps, uint64_t *value) {
    lk_tpm_result result = use(tpm, index, auth, steps, value, 0);
    lk_wipe_stack();
    return result;
}

lk_tpm_result lk_tpm_counter_remove(lk_tpm *tpm, uint32_t index, const uint8_t auth[LK_TPM_AUTH_MAX]) {
    uint64_t value;
    lk_tpm_result result = use(tpm, index, auth, 0, &value, 1);
    lk_wipe_stack();
    return result;
}

#endif
