#ifndef LATCHKEY_CFIDO2_H
#define LATCHKEY_CFIDO2_H

#include <stddef.h>
#include <stdint.h>

// Secrets from FIDO2 security keys (CTAP 2, hmac-secret) through libfido2, which is loaded on first use: the program
// builds and runs without it.

/// The result of a call.
enum {
    LK_FIDO2_DONE = 0,
    /// libfido2.so.1 cannot be loaded, or is older than 1.12.
    LK_FIDO2_NO_LIBRARY = 1,
    /// No device answers there, or it no longer answers.
    LK_FIDO2_NO_DEVICE = 2,
    /// A key without FIDO2, or without hmac-secret.
    LK_FIDO2_UNFIT = 3,
    /// The key does not know the credential.
    LK_FIDO2_UNKNOWN = 4,
    /// The key requires a PIN for this.
    LK_FIDO2_PIN_REQUIRED = 5,
    LK_FIDO2_PIN_WRONG = 6,
    /// After too many wrong PINs in a row, the key accepts none until it is plugged in again.
    LK_FIDO2_PIN_PAUSED = 7,
    /// After too many wrong PINs, the key accepts none until it is reset, which destroys all its credentials.
    LK_FIDO2_PIN_BLOCKED = 8,
    /// The user did not touch it in time.
    LK_FIDO2_NOT_TOUCHED = 9,
    /// The user declined the request on the key, or it was cancelled.
    LK_FIDO2_DENIED = 10,
    LK_FIDO2_OTHER = 11,
};

typedef struct {
    int kind;
    /// libfido2's or the key's error; 0 if there is none.
    int code;
} lk_fido2_result;

enum {
    LK_FIDO2_SECRET_SIZE = 32,
    LK_FIDO2_SALT_SIZE = 32,
    LK_FIDO2_CREDENTIAL_MAX = 1024,
    LK_FIDO2_PATH_MAX = 256,
    /// The largest number of keys in a list.
    LK_FIDO2_KEYS_MAX = 16,
};

/// Whether a library of this name has all functions that are used of libfido2.
int lk_fido2_can_load(const char *library);

/// The paths of the keys that are plugged in and accessible, each zero-terminated, in LK_FIDO2_PATH_MAX bytes.
lk_fido2_result lk_fido2_list(char paths[LK_FIDO2_KEYS_MAX * LK_FIDO2_PATH_MAX], size_t *count);

/// A connection to a key; one thread at a time.
typedef struct lk_fido2 lk_fido2;

/// Connects: to a device by its path, or by "socket:" and a path to a Unix socket whose peer speaks CTAPHID.
/// `milliseconds` is the limit for one request, including a touch.
lk_fido2_result lk_fido2_open(const char *path, int milliseconds, lk_fido2 **key);

/// Frees.
void lk_fido2_close(lk_fido2 *key);

/// Whether a PIN is set.
int lk_fido2_has_pin(const lk_fido2 *key);

/// Whether it supports CTAP 2.1: then it has two secrets for each credential, one for use with the PIN and one without.
int lk_fido2_has_two_secrets(const lk_fido2 *key);

/// Makes a credential for `party`. `pin` is zero-terminated, or NULL for none. Waits for a touch. CTAP 2.1, 6.1.
lk_fido2_result lk_fido2_make(lk_fido2 *key, const char *party, const char *pin,
                              uint8_t credential[LK_FIDO2_CREDENTIAL_MAX], size_t *count);

/// Whether the key knows the credential, without a touch. CTAP 2.1, 6.2, "up" of false.
lk_fido2_result lk_fido2_find(lk_fido2 *key, const char *party, const void *credential, size_t count, const char *pin);

/// The secret for the credential and the salt, which differs with and without a PIN. Waits for a touch if `with_touch`
/// is not 0. Writes nothing on failure. CTAP 2.1, 12.5.
lk_fido2_result lk_fido2_derive(lk_fido2 *key, const char *party, const void *credential, size_t count,
                                const uint8_t salt[LK_FIDO2_SALT_SIZE], const char *pin, int with_touch,
                                uint8_t secret[LK_FIDO2_SECRET_SIZE]);

/// The number of wrong PINs that the key still accepts.
lk_fido2_result lk_fido2_tries(lk_fido2 *key, int *tries);

#endif
