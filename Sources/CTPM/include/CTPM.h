#ifndef LATCHKEY_CTPM_H
#define LATCHKEY_CTPM_H

#include <stddef.h>
#include <stdint.h>

// Sealing and counting in a TPM 2.0 through tpm2-tss's ESAPI, which is loaded on first use: the program runs without
// it. If the headers were missing at build time, every call returns LK_TPM_NO_LIBRARY.

/// The result of a call.
enum {
    LK_TPM_DONE = 0,
    /// libtss2-esys or libtss2-tctildr cannot be loaded, or is too old.
    LK_TPM_NO_LIBRARY = 1,
    /// The TCTI does not lead to a TPM, or the TPM no longer answers: close, and open again.
    LK_TPM_NO_DEVICE = 2,
    LK_TPM_WRONG_AUTH = 3,
    /// After too many wrong authorization values, the TPM refuses all values until its recovery interval is over.
    LK_TPM_LOCKED_OUT = 4,
    LK_TPM_PCRS_DIFFER = 5,
    /// The object is of another TPM, of this one before it was cleared, or damaged.
    LK_TPM_FOREIGN = 6,
    /// No storage key: the owner hierarchy has a password, and at 0x81000001 there is no SRK without one.
    LK_TPM_NO_STORAGE_KEY = 7,
    LK_TPM_OTHER = 8,
    /// At the index is no counter that lk_tpm_counter_make has made.
    LK_TPM_NO_COUNTER = 9,
    /// The TPM's memory is full.
    LK_TPM_NO_ROOM = 10,
    /// The owner hierarchy has a password.
    LK_TPM_OWNER_PASSWORD = 11,
};

typedef struct {
    int kind;
    /// The TSS's or the TPM's response code; 0 if there is none.
    uint32_t code;
} lk_tpm_result;

enum {
    LK_TPM_SECRET_MAX = 128,
    LK_TPM_AUTH_MAX = 32,
    /// The largest size of each part of a sealed object.
    LK_TPM_PART_MAX = 1024,
};

/// A connection; one thread at a time.
typedef struct lk_tpm lk_tpm;

/// Connects by a TCTI configuration such as "device:/dev/tpmrm0"; NULL is the first of /dev/tpmrm0, /dev/tpm0 and the
/// resource manager on D-Bus that answers. It never falls back to a TCP port, where any process could pretend to be the
/// TPM.
lk_tpm_result lk_tpm_open(const char *tcti, lk_tpm **tpm);

/// Frees.
void lk_tpm_close(lk_tpm *tpm);

/// The two parts of a sealed object, marshalled TPM2B_PUBLIC and TPM2B_PRIVATE.
typedef struct {
    uint8_t public_part[LK_TPM_PART_MAX];
    size_t public_count;
    uint8_t private_part[LK_TPM_PART_MAX];
    size_t private_count;
} lk_tpm_sealed;

/// An authorization value (empty for none) and the PCRs of the SHA-256 bank, bit n for PCR n, that must have the same
/// values.
typedef struct {
    const void *auth;
    size_t auth_count;
    uint32_t pcrs;
} lk_tpm_access;

/// Seals 1 to 128 bytes, to be released only with `access`. TPM 2.0 part 1, 27.7; part 3, TPM2_Create.
lk_tpm_result lk_tpm_seal(lk_tpm *tpm, const void *secret, size_t count, const lk_tpm_access *access,
                          lk_tpm_sealed *sealed);

/// Writes at most 128 bytes to `secret`, and nothing on failure. Part 3, TPM2_Load and TPM2_Unseal.
lk_tpm_result lk_tpm_unseal(lk_tpm *tpm, const lk_tpm_sealed *sealed, const lk_tpm_access *access,
                            uint8_t secret[LK_TPM_SECRET_MAX], size_t *count);

/// Makes a counter in the TPM's own memory, at a random index in the owner's range. It only grows, and starts at any
/// value. Part 1, 37.2; part 3, TPM2_NV_DefineSpace.
lk_tpm_result lk_tpm_counter_make(
    lk_tpm *tpm, const uint8_t auth[LK_TPM_AUTH_MAX], uint32_t *index, uint64_t *value);

/// Increments it any number of times, also 0, and reads it. An error may come after some of the steps. Traffic with the
/// TPM that is replayed or changed is refused on both sides. Part 3, TPM2_NV_Increment and TPM2_NV_Read.
lk_tpm_result lk_tpm_counter_increment(
    lk_tpm *tpm, uint32_t index, const uint8_t auth[LK_TPM_AUTH_MAX], uint32_t steps, uint64_t *value);

/// Removes it, if the value is right. Part 3, TPM2_NV_UndefineSpace.
lk_tpm_result lk_tpm_counter_remove(lk_tpm *tpm, uint32_t index, const uint8_t auth[LK_TPM_AUTH_MAX]);

/// The state of the dictionary attack protection. Part 1, 19.8.
typedef struct {
    uint32_t failed_tries;
    uint32_t max_tries;
    /// Seconds after which one failed try is forgotten.
    uint32_t recovery_seconds;
    int is_locked_out;
} lk_tpm_lockout;

lk_tpm_result lk_tpm_read_lockout(lk_tpm *tpm, lk_tpm_lockout *lockout);

/// The manufacturer's four letters (TCG TPM Vendor ID Registry) and its name for the model, both printable ASCII.
lk_tpm_result lk_tpm_read_name(lk_tpm *tpm, char manufacturer[5], char model[17]);

#endif
