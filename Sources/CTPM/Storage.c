#include "Library.h"

#ifdef LK_HAS_TSS2

// The storage root key of elliptic curve P-256: TCG TPM v2.0 Provisioning Guidance 7.5.1, template L-2 of the TCG EK
// Credential Profile with userWithAuth and noDA instead of its policy. tpm2-tools and systemd make the same one.
static const TPM2B_PUBLIC template = {
    .publicArea = {
        .type = TPM2_ALG_ECC,
        .nameAlg = TPM2_ALG_SHA256,
        .objectAttributes = TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT | TPMA_OBJECT_SENSITIVEDATAORIGIN |
                            TPMA_OBJECT_USERWITHAUTH | TPMA_OBJECT_NODA | TPMA_OBJECT_RESTRICTED | TPMA_OBJECT_DECRYPT,
        .parameters.eccDetail = {
            .symmetric = {.algorithm = TPM2_ALG_AES, .keyBits.aes = 128, .mode.aes = TPM2_ALG_CFB},
            .scheme.scheme = TPM2_ALG_NULL,
            .curveID = TPM2_ECC_NIST_P256,
            .kdf.scheme = TPM2_ALG_NULL,
        },
    },
};

static const TPM2_HANDLE persistent_handle = 0x81000001;

static int is_storage_root(const TPMT_PUBLIC *area) {
    const TPMT_PUBLIC *wanted = &template.publicArea;
    const TPMS_ECC_PARMS *ecc = &area->parameters.eccDetail;
    return area->type == wanted->type && area->nameAlg == wanted->nameAlg &&
           area->objectAttributes == wanted->objectAttributes && area->authPolicy.size == 0 &&
           ecc->symmetric.algorithm == TPM2_ALG_AES && ecc->symmetric.keyBits.aes == 128 &&
           ecc->symmetric.mode.aes == TPM2_ALG_CFB && ecc->scheme.scheme == TPM2_ALG_NULL &&
           ecc->curveID == TPM2_ECC_NIST_P256 && ecc->kdf.scheme == TPM2_ALG_NULL;
}

// The storage root key made persistent earlier, if it has that template: it costs nothing and needs no owner password.
// Any other key, such as an RSA one, is ignored, so that the same key is found whether or not it is persistent.
// ESYS_TR_NONE if there is none; an error only if the TPM did not answer.
static TSS2_RC find_persistent(lk_tpm *tpm, ESYS_TR *key) {
    TSS2_RC code =
        lk_tss2.Esys_TR_FromTPMPublic(tpm->esys, persistent_handle, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, key);
    if (code != TSS2_RC_SUCCESS) {
        *key = ESYS_TR_NONE;
        return lk_tpm_meaning(code, LK_STEP_ANY).kind == LK_TPM_NO_DEVICE ? code : TSS2_RC_SUCCESS;
    }
    TPM2B_PUBLIC *area = NULL;
    code = lk_tss2.Esys_ReadPublic(tpm->esys, *key, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, &area, NULL, NULL);
    int is_suitable = code == TSS2_RC_SUCCESS && is_storage_root(&area->publicArea);
    if (code == TSS2_RC_SUCCESS) lk_tss2.Esys_Free(area);
    if (!is_suitable) {
        lk_tss2.Esys_TR_Close(tpm->esys, key);
        *key = ESYS_TR_NONE;
    }
    return code;
}

TSS2_RC lk_session_start(lk_tpm *tpm, ESYS_TR key, TPM2_SE type, ESYS_TR *session) {
    const TPMT_SYM_DEF cipher = {.algorithm = TPM2_ALG_AES, .keyBits.aes = 128, .mode.aes = TPM2_ALG_CFB};
    TSS2_RC code = lk_tss2.Esys_StartAuthSession(tpm->esys, key, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE,
                                                 NULL, type, &cipher, TPM2_ALG_SHA256, session);
    if (code != TSS2_RC_SUCCESS) {
        *session = ESYS_TR_NONE;
        return code;
    }
    // ESAPI drops the attributes that do not apply to a command.
    const TPMA_SESSION attributes = TPMA_SESSION_CONTINUESESSION | TPMA_SESSION_DECRYPT | TPMA_SESSION_ENCRYPT;
    return lk_tss2.Esys_TRSess_SetAttributes(tpm->esys, *session, attributes, 0xff);
}

lk_tpm_result lk_storage_open(lk_tpm *tpm, lk_storage *storage) {
    *storage = (lk_storage){ESYS_TR_NONE, 0, ESYS_TR_NONE};
    TSS2_RC code = find_persistent(tpm, &storage->key);
    if (code == TSS2_RC_SUCCESS && storage->key == ESYS_TR_NONE) {
        const TPM2B_SENSITIVE_CREATE no_auth = {0};
        const TPM2B_DATA no_info = {0};
        const TPML_PCR_SELECTION no_pcrs = {0};
        code = lk_tss2.Esys_CreatePrimary(tpm->esys, ESYS_TR_RH_OWNER, ESYS_TR_PASSWORD, ESYS_TR_NONE, ESYS_TR_NONE,
                                          &no_auth, &template, &no_info, &no_pcrs, &storage->key, NULL, NULL, NULL,
                                          NULL);
        if (code != TSS2_RC_SUCCESS) storage->key = ESYS_TR_NONE;
        storage->is_transient = 1;
    }
    if (code == TSS2_RC_SUCCESS) code = lk_session_start(tpm, storage->key, TPM2_SE_HMAC, &storage->session);
    return lk_tpm_meaning(code, LK_STEP_STORAGE_KEY);
}

void lk_storage_close(lk_tpm *tpm, lk_storage *storage) {
    lk_flush(tpm, &storage->session);
    if (storage->is_transient) {
        lk_flush(tpm, &storage->key);
    } else if (storage->key != ESYS_TR_NONE) {
        lk_tss2.Esys_TR_Close(tpm->esys, &storage->key);
    }
}

void lk_flush(lk_tpm *tpm, ESYS_TR *handle) {
    if (*handle != ESYS_TR_NONE) lk_tss2.Esys_FlushContext(tpm->esys, *handle);
    *handle = ESYS_TR_NONE;
}

TSS2_RC lk_policy_build(lk_tpm *tpm, ESYS_TR policy, ESYS_TR guard, uint32_t pcrs, int with_auth) {
    const TPM2B_DIGEST as_they_are = {0};
    const TPML_PCR_SELECTION selection = {
        .count = 1,
        .pcrSelections[0] = {.hash = TPM2_ALG_SHA256, .sizeofSelect = 3,
                             .pcrSelect = {pcrs & 0xff, pcrs >> 8 & 0xff, pcrs >> 16 & 0xff}},
    };
    TSS2_RC code = lk_tss2.Esys_PolicyPCR(
        tpm->esys, policy, guard, ESYS_TR_NONE, ESYS_TR_NONE, &as_they_are, &selection);
    if (code == TSS2_RC_SUCCESS && with_auth)
        code = lk_tss2.Esys_PolicyAuthValue(tpm->esys, policy, guard, ESYS_TR_NONE, ESYS_TR_NONE);
    return code;
}

#endif
