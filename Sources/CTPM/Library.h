#ifndef LATCHKEY_CTPM_LIBRARY_H
#define LATCHKEY_CTPM_LIBRARY_H

#include "CTPM.h"

#if __has_include(<tss2/tss2_esys.h>) && __has_include(<tss2/tss2_mu.h>) && __has_include(<tss2/tss2_tctildr.h>)
#define LK_HAS_TSS2 1
#include <tss2/tss2_esys.h>
#include <tss2/tss2_mu.h>
#include <tss2/tss2_tctildr.h>

#define LK_TSS2_FUNCTIONS(F)                                                                                           \
    F(Tss2_TctiLdr_Initialize)                                                                                         \
    F(Tss2_TctiLdr_Finalize)                                                                                           \
    F(Tss2_MU_TPM2B_PUBLIC_Marshal)                                                                                    \
    F(Tss2_MU_TPM2B_PUBLIC_Unmarshal)                                                                                  \
    F(Tss2_MU_TPM2B_PRIVATE_Marshal)                                                                                   \
    F(Tss2_MU_TPM2B_PRIVATE_Unmarshal)                                                                                 \
    F(Tss2_Sys_GetEncryptParam)                                                                                        \
    F(Tss2_Sys_SetEncryptParam)                                                                                        \
    F(Esys_Initialize)                                                                                                 \
    F(Esys_Finalize)                                                                                                   \
    F(Esys_GetSysContext)                                                                                              \
    F(Esys_Free)                                                                                                       \
    F(Esys_TR_FromTPMPublic)                                                                                           \
    F(Esys_TR_Close)                                                                                                   \
    F(Esys_TR_SetAuth)                                                                                                 \
    F(Esys_TRSess_SetAttributes)                                                                                       \
    F(Esys_ReadPublic)                                                                                                 \
    F(Esys_CreatePrimary)                                                                                              \
    F(Esys_StartAuthSession)                                                                                           \
    F(Esys_PolicyPCR)                                                                                                  \
    F(Esys_PolicyAuthValue)                                                                                            \
    F(Esys_PolicyGetDigest)                                                                                            \
    F(Esys_Create)                                                                                                     \
    F(Esys_Create_Async)                                                                                               \
    F(Esys_Load)                                                                                                       \
    F(Esys_Unseal)                                                                                                     \
    F(Esys_NV_DefineSpace)                                                                                             \
    F(Esys_NV_DefineSpace_Async)                                                                                       \
    F(Esys_NV_UndefineSpace)                                                                                           \
    F(Esys_NV_ReadPublic)                                                                                              \
    F(Esys_NV_Read)                                                                                                    \
    F(Esys_NV_Increment)                                                                                               \
    F(Esys_FlushContext)                                                                                               \
    F(Esys_GetCapability)

/// The functions used of tpm2-tss 3.0 or later.
typedef struct {
#define LK_FIELD(name) __typeof__(&name) name;
    LK_TSS2_FUNCTIONS(LK_FIELD)
#undef LK_FIELD
} lk_tss2_functions;

extern lk_tss2_functions lk_tss2;

struct lk_tpm {
    TSS2_TCTI_CONTEXT *tcti;
    ESYS_CONTEXT *esys;
};

/// The purpose of a step, because the same response code can mean different things.
typedef enum {
    LK_STEP_ANY,
    LK_STEP_STORAGE_KEY,
    LK_STEP_LOAD,
    LK_STEP_UNSEAL,
    /// Makes or removes an index: the owner authorizes it.
    LK_STEP_DEFINE,
    LK_STEP_COUNTER,
} lk_step;

/// The meaning of a response code; LK_TPM_DONE for TSS2_RC_SUCCESS.
lk_tpm_result lk_tpm_meaning(TSS2_RC code, lk_step step);

/// The storage key, parent of all sealed objects, and a session salted with it.
typedef struct {
    ESYS_TR key;
    int is_transient;
    ESYS_TR session;
} lk_storage;

/// Finds or creates the storage key; call lk_storage_close even if it fails.
lk_tpm_result lk_storage_open(lk_tpm *tpm, lk_storage *storage);

void lk_storage_close(lk_tpm *tpm, lk_storage *storage);

/// A session of that type whose parameters are encrypted under a secret that only the TPM of the storage key can know.
TSS2_RC lk_session_start(lk_tpm *tpm, ESYS_TR key, TPM2_SE type, ESYS_TR *session);

/// Flushes from the TPM, unless it is ESYS_TR_NONE.
void lk_flush(lk_tpm *tpm, ESYS_TR *handle);

/// Makes a policy session require the present values of the PCRs and, if asked, the authorization value. `guard` is a
/// session that protects the commands from changes on their way, or ESYS_TR_NONE.
TSS2_RC lk_policy_build(lk_tpm *tpm, ESYS_TR policy, ESYS_TR guard, uint32_t pcrs, int with_auth);

// tpm2-tss does not wipe its copies of secrets. These functions overwrite the copies that it still refers to.
//
// Not wiped: session keys in freed memory, which are useless without a recording of the traffic with the TPM. OpenSSL's
// allocations for tpm2-tss are in CCrypto's arena, and lk_wipe_stack wipes the stack.

/// Wipes and frees what ESAPI allocated.
void lk_wipe_free(void *bytes, size_t count);

/// Wipes the sensitive part that Esys_Create keeps in the context.
void lk_wipe_created(lk_tpm *tpm, ESYS_TR session, const TPM2B_PUBLIC *area);

/// Wipes the decrypted parameter in the buffer of the last response.
void lk_wipe_response(lk_tpm *tpm);

/// Wipes the authorization value of an object, in the object and in the session that authorized its use; that session
/// is unusable afterwards. `storage`, `area` and `private_part` are what the object was loaded with.
void lk_wipe_auth(lk_tpm *tpm, ESYS_TR object, ESYS_TR session, const lk_storage *storage, const TPM2B_PUBLIC *area,
                  const TPM2B_PRIVATE *private_part);

/// Wipes the authorization value that Esys_NV_DefineSpace keeps in the context.
void lk_wipe_defined(lk_tpm *tpm, ESYS_TR session, const TPM2B_NV_PUBLIC *area);

/// Wipes the authorization value of a counter, in the object and in the session that authorized its use.
void lk_wipe_counter(lk_tpm *tpm, ESYS_TR counter, ESYS_TR session);

#endif
#endif
