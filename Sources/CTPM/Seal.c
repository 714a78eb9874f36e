#define _GNU_SOURCE
#include "Library.h"

#ifdef LK_HAS_TSS2
#include "CCrypto.h"
#include <string.h>

// Sealed data: TPM 2.0 part 1, 27.7. The secret comes from outside, so sensitiveDataOrigin is not set; without sign and
// decrypt the object can only be unsealed. With a policy, the authorization value is needed only if the policy says so.
static TPM2B_PUBLIC public_area(const lk_tpm_access *access, const TPM2B_DIGEST *policy) {
    TPMA_OBJECT attributes = TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT;
    if (access->pcrs == 0) attributes |= TPMA_OBJECT_USERWITHAUTH;
    // Without a value there is nothing to guess, and a lockout caused by other users of the TPM would be pointless.
    if (access->auth_count == 0) attributes |= TPMA_OBJECT_NODA;
    return (TPM2B_PUBLIC){
        .publicArea = {
            .type = TPM2_ALG_KEYEDHASH,
            .nameAlg = TPM2_ALG_SHA256,
            .objectAttributes = attributes,
            .authPolicy = *policy,
            .parameters.keyedHashDetail.scheme.scheme = TPM2_ALG_NULL,
        },
    };
}

// The digest of a policy that a trial session builds. Every step is under the salted session, so that an attacker
// between here and the TPM cannot leave one out.
static TSS2_RC policy_digest(
    lk_tpm *tpm, const lk_storage *storage, const lk_tpm_access *access, TPM2B_DIGEST *policy) {
    ESYS_TR trial;
    TPM2B_DIGEST *digest = NULL;
    TSS2_RC code = lk_session_start(tpm, storage->key, TPM2_SE_TRIAL, &trial);
    // On a command without parameters to encrypt, a session that authorizes nothing is allowed only for audit.
    if (code == TSS2_RC_SUCCESS)
        code = lk_tss2.Esys_TRSess_SetAttributes(tpm->esys, storage->session, TPMA_SESSION_AUDIT, TPMA_SESSION_AUDIT);
    if (code == TSS2_RC_SUCCESS)
        code = lk_policy_build(tpm, trial, storage->session, access->pcrs, access->auth_count > 0);
    if (code == TSS2_RC_SUCCESS)
        code = lk_tss2.Esys_PolicyGetDigest(tpm->esys, trial, storage->session, ESYS_TR_NONE, ESYS_TR_NONE, &digest);
    if (code == TSS2_RC_SUCCESS) {
        *policy = *digest;
        lk_tss2.Esys_Free(digest);
        code = lk_tss2.Esys_TRSess_SetAttributes(tpm->esys, storage->session, 0, TPMA_SESSION_AUDIT);
    }
    lk_flush(tpm, &trial);
    return code;
}

static TSS2_RC create(lk_tpm *tpm, const lk_storage *storage, const TPM2B_PUBLIC *area, const void *secret,
                      size_t count, const lk_tpm_access *access, lk_tpm_sealed *sealed) {
    TPM2B_SENSITIVE_CREATE sensitive = {0};
    sensitive.sensitive.data.size = (UINT16)count;
    memcpy(sensitive.sensitive.data.buffer, secret, count);
    sensitive.sensitive.userAuth.size = (UINT16)access->auth_count;
    if (access->auth_count > 0) memcpy(sensitive.sensitive.userAuth.buffer, access->auth, access->auth_count);
    const TPM2B_DATA no_info = {0};
    const TPML_PCR_SELECTION no_pcrs = {0};
    TPM2B_PRIVATE *private_part = NULL;
    TPM2B_PUBLIC *public_part = NULL;
    TSS2_RC code =
        lk_tss2.Esys_Create(tpm->esys, storage->key, storage->session, ESYS_TR_NONE, ESYS_TR_NONE, &sensitive, area,
                            &no_info, &no_pcrs, &private_part, &public_part, NULL, NULL, NULL);
    explicit_bzero(&sensitive, sizeof sensitive);
    lk_wipe_created(tpm, storage->session, area);
    if (code != TSS2_RC_SUCCESS) return code;

    sealed->public_count = sealed->private_count = 0;
    code = lk_tss2.Tss2_MU_TPM2B_PUBLIC_Marshal(
        public_part, sealed->public_part, LK_TPM_PART_MAX, &sealed->public_count);
    if (code == TSS2_RC_SUCCESS)
        code = lk_tss2.Tss2_MU_TPM2B_PRIVATE_Marshal(private_part, sealed->private_part, LK_TPM_PART_MAX,
                                                     &sealed->private_count);
    lk_tss2.Esys_Free(private_part);
    lk_tss2.Esys_Free(public_part);
    return code;
}

__attribute__((noinline)) static lk_tpm_result seal(lk_tpm *tpm, const void *secret, size_t count,
                                                    const lk_tpm_access *access, lk_tpm_sealed *sealed) {
    lk_storage storage;
    lk_tpm_result result = lk_storage_open(tpm, &storage);
    if (result.kind == LK_TPM_DONE) {
        TPM2B_DIGEST policy = {0};
        TSS2_RC code = access->pcrs != 0 ? policy_digest(tpm, &storage, access, &policy) : TSS2_RC_SUCCESS;
        TPM2B_PUBLIC area = public_area(access, &policy);
        if (code == TSS2_RC_SUCCESS) code = create(tpm, &storage, &area, secret, count, access, sealed);
        result = lk_tpm_meaning(code, LK_STEP_ANY);
    }
    lk_storage_close(tpm, &storage);
    return result;
}

lk_tpm_result lk_tpm_seal(lk_tpm *tpm, const void *secret, size_t count, const lk_tpm_access *access,
                          lk_tpm_sealed *sealed) {
    if (count == 0 || count > LK_TPM_SECRET_MAX || access->auth_count > LK_TPM_AUTH_MAX || access->pcrs >> 24 != 0)
        return (lk_tpm_result){LK_TPM_OTHER, TSS2_ESYS_RC_BAD_VALUE};
    lk_tpm_result result = seal(tpm, secret, count, access, sealed);
    lk_wipe_stack();
    return result;
}

#endif
