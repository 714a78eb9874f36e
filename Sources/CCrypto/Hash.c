// The EVP interface of OpenSSL 3.0 allocates for each HMAC, and every lookup computes two: of a name binding and of a
// header. The functions below it need only the stack, and what they leave there is wiped.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "CCrypto.h"
#include <assert.h>
#include <openssl/sha.h>
#include <string.h>

struct states {
    SHA256_CTX inner, outer;
};

static_assert(sizeof(struct states) <= sizeof(lk_hmac), "lk_hmac holds two states of SHA-256");
static_assert(_Alignof(struct states) <= _Alignof(lk_hmac), "lk_hmac is aligned for SHA-256");

void lk_sha256(const void *bytes, size_t count, uint8_t digest[32]) {
    SHA256_CTX state;
    SHA256_Init(&state);
    SHA256_Update(&state, bytes, count);
    SHA256_Final(digest, &state);
    OPENSSL_cleanse(&state, sizeof state);
}

static_assert(sizeof(SHA256_CTX) <= sizeof(lk_sha256_state), "lk_sha256_state holds a state of SHA-256");
static_assert(_Alignof(SHA256_CTX) <= _Alignof(lk_sha256_state), "lk_sha256_state is aligned for SHA-256");

void lk_sha256_begin(lk_sha256_state *state) { SHA256_Init((SHA256_CTX *)state); }

void lk_sha256_add(lk_sha256_state *state, const void *bytes, size_t count) {
    SHA256_Update((SHA256_CTX *)state, bytes, count);
}

void lk_sha256_end(lk_sha256_state *state, uint8_t digest[32]) {
    SHA256_Final(digest, (SHA256_CTX *)state);
    OPENSSL_cleanse(state, sizeof *state);
}

void lk_hmac_set_key(lk_hmac *hmac, const void *key, size_t count) {
    struct states *states = (struct states *)hmac;
    uint8_t block[64] = {0};
    if (count > sizeof block) {
        lk_sha256(key, count, block);
    } else if (count > 0) {
        memcpy(block, key, count);
    }
    for (size_t i = 0; i < sizeof block; i++) block[i] ^= 0x36;
    SHA256_Init(&states->inner);
    SHA256_Update(&states->inner, block, sizeof block);
    for (size_t i = 0; i < sizeof block; i++) block[i] ^= 0x36 ^ 0x5c;
    SHA256_Init(&states->outer);
    SHA256_Update(&states->outer, block, sizeof block);
    OPENSSL_cleanse(block, sizeof block);
}

void lk_hmac_tag(const lk_hmac *hmac, const void *a, size_t a_count, const void *b, size_t b_count, const void *c,
                 size_t c_count, uint8_t tag[32]) {
    struct states states = *(const struct states *)hmac;
    SHA256_Update(&states.inner, a, a_count);
    if (b_count > 0) SHA256_Update(&states.inner, b, b_count);
    if (c_count > 0) SHA256_Update(&states.inner, c, c_count);
    uint8_t digest[32];
    SHA256_Final(digest, &states.inner);
    SHA256_Update(&states.outer, digest, sizeof digest);
    SHA256_Final(tag, &states.outer);
    OPENSSL_cleanse(digest, sizeof digest);
    OPENSSL_cleanse(&states, sizeof states);
}

void lk_hkdf_sha256(const void *key, size_t key_count, const void *salt, size_t salt_count, const void *info,
                    size_t info_count, void *out, size_t out_count) {
    lk_hmac hmac;
    uint8_t block[32];
    lk_hmac_set_key(&hmac, salt, salt_count); // no salt is 32 zeros, which HMAC pads to the same block
    lk_hmac_tag(&hmac, key, key_count, NULL, 0, NULL, 0, block);
    lk_hmac_set_key(&hmac, block, sizeof block);

    uint8_t *next = out;
    size_t previous = 0;
    for (uint8_t counter = 1; out_count > 0; counter++) {
        lk_hmac_tag(&hmac, block, previous, info, info_count, &counter, 1, block);
        previous = sizeof block;
        size_t step = out_count < sizeof block ? out_count : sizeof block;
        memcpy(next, block, step);
        next += step;
        out_count -= step;
    }
    OPENSSL_cleanse(block, sizeof block);
    OPENSSL_cleanse(&hmac, sizeof hmac);
}
