#ifndef LATCHKEY_CCRYPTO_H
#define LATCHKEY_CCRYPTO_H

#include <stddef.h>
#include <stdint.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>

// MARK: - The locked heap

/// The result of lk_secure_heap_start.
enum {
    LK_HEAP_LOCKED = 0,
    /// OpenSSL had allocated before: its memory functions can no longer be replaced.
    LK_HEAP_TOO_LATE = 1,
    /// The arena exists, but it could not be locked, guarded or kept out of core files.
    LK_HEAP_UNPROTECTED = 2,
    LK_HEAP_NO_MEMORY = 3,
};

/// Makes OpenSSL allocate everything from one arena of `size` bytes (a power of two) that is locked, guarded and
/// excluded from core files. Must be called once, before any other use of OpenSSL.
int lk_secure_heap_start(size_t size);

/// Wipes the vector registers, where OpenSSL's AES-GCM leaves the last bytes that it has decrypted, and 16 KiB of this
/// thread's stack below the caller, where they may have been saved.
void lk_wipe_stack(void);

/// `count` zero bytes from the arena, or NULL if it is full. Free them with lk_secure_release.
void *lk_secure_allocate(size_t count);

/// Wipes and frees.
void lk_secure_release(void *bytes, size_t count);

/// Wipes the whole arena, even allocations in use: the process must end right after this. 1, or 0 if the arena was not
/// found.
int lk_secure_wipe_everything(void);

/// Stops the calling thread until the process ends, with its signals blocked.
_Noreturn void lk_stand_still(void);

// MARK: - SHA-256, HMAC and HKDF, without a single allocation

/// The states of SHA-256 after the two padded keys of HMAC: as secret as the key itself.
typedef struct {
    uint64_t opaque[28];
} lk_hmac;

void lk_sha256(const void *bytes, size_t count, uint8_t digest[32]);

/// SHA-256 of bytes that come in pieces: begin, add, end. `end` wipes the state.
typedef struct {
    uint64_t opaque[14];
} lk_sha256_state;

void lk_sha256_begin(lk_sha256_state *state);
void lk_sha256_add(lk_sha256_state *state, const void *bytes, size_t count);
void lk_sha256_end(lk_sha256_state *state, uint8_t digest[32]);

void lk_hmac_set_key(lk_hmac *hmac, const void *key, size_t count);

/// The tag of a || b || c; thread-safe.
void lk_hmac_tag(const lk_hmac *hmac, const void *a, size_t a_count, const void *b, size_t b_count, const void *c,
                 size_t c_count, uint8_t tag[32]);

/// RFC 5869; `out_count` at most 255 * 32.
void lk_hkdf_sha256(const void *key, size_t key_count, const void *salt, size_t salt_count, const void *info,
                    size_t info_count, void *out, size_t out_count);

// MARK: - AES-SIV

/// AES-256-SIV under one key; one thread at a time.
typedef struct lk_siv lk_siv;

typedef struct {
    const uint8_t *start;
    size_t count;
} lk_bytes;

/// NULL if the arena is full.
lk_siv *lk_siv_new(const EVP_CIPHER *cbc, const EVP_CIPHER *ctr, const uint8_t key[64]);

/// Wipes and frees.
void lk_siv_free(lk_siv *siv);

/// Writes tag and ciphertext, 16 + `count` bytes. 1, or 0 if OpenSSL fails. Input and output must not overlap.
int lk_siv_seal(lk_siv *siv, const lk_bytes *data, size_t data_count, const uint8_t *plain, size_t count,
                uint8_t *out);

/// Opens 16 + `count` bytes into `count`. 1 for success; 0 if OpenSSL fails, -1 for a wrong tag, and then `out` is
/// wiped.
int lk_siv_open(lk_siv *siv, const lk_bytes *data, size_t data_count, const uint8_t *sealed, size_t count,
                uint8_t *out);

/// Decrypts without checking the tag: the result is a guess. 1, or 0 if OpenSSL fails.
int lk_siv_guess(lk_siv *siv, const uint8_t *sealed, size_t count, uint8_t *out);

// MARK: - Argon2id

/// RFC 9106, version 0x13. Its working memory is kept out of core files and wiped.
/// Returns 0, or an error for lk_argon2_message.
int lk_argon2id(const void *passcode, size_t passcode_count, const void *salt, size_t salt_count,
                const void *secret, size_t secret_count, const void *data, size_t data_count, uint32_t memory_kib,
                uint32_t passes, uint32_t lanes, void *out, size_t out_count);

const char *lk_argon2_message(int error);

// MARK: - Keys in PEM

/// The result of reading a key.
enum {
    LK_PEM_READ = 0,
    /// Not PEM, or a key of another kind.
    LK_PEM_NO_KEY = 1,
    /// It is encrypted, and `passphrase` is missing or wrong.
    LK_PEM_PASSPHRASE = 2,
};

/// The X25519 private key in PEM text (RFC 7468, RFC 8410), which may be encrypted; `passphrase` may be NULL.
int lk_x25519_read_private(const void *pem, size_t count, const void *passphrase, size_t passphrase_count,
                           uint8_t key[32]);

/// The X25519 public key in PEM text.
int lk_x25519_read_public(const void *pem, size_t count, uint8_t key[32]);

// MARK: - The processor

/// Whether OpenSSL uses AES instructions of the processor.
int lk_uses_aes_instructions(void);

// MARK: - Random numbers

/// Fills from the kernel's generator. Cannot fail: an error ends the process.
void lk_random(void *bytes, size_t count);

#endif
