#include "Library.h"

// A build without tpm2-tss's headers supports no TPM.
#ifndef LK_HAS_TSS2

static const lk_tpm_result no_library = {LK_TPM_NO_LIBRARY, 0};

lk_tpm_result lk_tpm_open(const char *tcti, lk_tpm **tpm) {
    (void)tcti;
    *tpm = NULL;
    return no_library;
}

void lk_tpm_close(lk_tpm *tpm) { (void)tpm; }

lk_tpm_result lk_tpm_seal(lk_tpm *tpm, const void *secret, size_t count, const lk_tpm_access *access,
                          lk_tpm_sealed *sealed) {
    (void)tpm, (void)secret, (void)count, (void)access, (void)sealed;
    return no_library;
}

lk_tpm_result lk_tpm_unseal(lk_tpm *tpm, const lk_tpm_sealed *sealed, const lk_tpm_access *access,
                            uint8_t secret[LK_TPM_SECRET_MAX], size_t *count) {
    (void)tpm, (void)sealed, (void)access, (void)secret, (void)count;
    return no_library;
}

lk_tpm_result lk_tpm_counter_make(
    lk_tpm *tpm, const uint8_t auth[LK_TPM_AUTH_MAX], uint32_t *index, uint64_t *value) {
    (void)tpm, (void)auth, (void)index, (void)value;
    return no_library;
}

lk_tpm_result lk_tpm_counter_increment(
    lk_tpm *tpm, uint32_t index, const uint8_t auth[LK_TPM_AUTH_MAX], uint32_t steps, uint64_t *value) {
    (void)tpm, (void)index, (void)auth, (void)steps, (void)value;
    return no_library;
}

lk_tpm_result lk_tpm_counter_remove(lk_tpm *tpm, uint32_t index, const uint8_t auth[LK_TPM_AUTH_MAX]) {
    (void)tpm, (void)index, (void)auth;
    return no_library;
}

lk_tpm_result lk_tpm_read_lockout(lk_tpm *tpm, lk_tpm_lockout *lockout) {
    (void)tpm, (void)lockout;
    return no_library;
}

lk_tpm_result lk_tpm_read_name(lk_tpm *tpm, char manufacturer[5], char model[17]) {
    (void)tpm, (void)manufacturer, (void)model;
    return no_library;
}

#endif
