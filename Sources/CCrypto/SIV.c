// AES-SIV (RFC 5297) from OpenSSL's AES-CBC and AES-CTR. OpenSSL 3.0 has the mode itself, but its context needs the key
// again for each message (else Update returns 0 and Final 1, with the tag of the message before). That fetches a MAC
// and allocates about twenty times: 4 us for a name, 8 with four threads that contend for the heap's lock, and every
// lookup needs names. These contexts get their key once and allocate nothing after that.
#include "CCrypto.h"
#include <string.h>

struct lk_siv {
    EVP_CIPHER_CTX *mac; // AES-256-CBC under the first half of the key: CMAC is its last block
    EVP_CIPHER_CTX *ctr; // AES-256-CTR under the second half
    uint8_t whole[16];   // CMAC's subkeys (RFC 4493): for a complete last block, and for a padded one
    uint8_t padded[16];
    uint8_t start[16]; // CMAC of a zero block, with which S2V begins
};

static const uint8_t zeros[16];

static void xor_block(uint8_t *block, const uint8_t *other) {
    for (int i = 0; i < 16; i++) block[i] ^= other[i];
}

// Multiplication by x in GF(2^128), without a branch on the secret bit.
static void dbl(uint8_t *block) {
    uint8_t carry = block[0] >> 7;
    for (int i = 0; i < 15; i++) block[i] = (uint8_t)(block[i] << 1 | block[i + 1] >> 7);
    block[15] = (uint8_t)(block[15] << 1 ^ (0x87 & -carry));
}

// MARK: - CMAC

struct cmac {
    lk_siv *siv;
    uint8_t pending[16]; // the last block is processed differently, so one block is always held back
    size_t filled;
    uint8_t chain[128]; // the output of CBC; its last block is the state
};

static int cmac_start(struct cmac *cmac, lk_siv *siv) {
    cmac->siv = siv;
    cmac->filled = 0;
    return EVP_EncryptInit_ex2(siv->mac, NULL, NULL, zeros, NULL) == 1;
}

// `count`: whole blocks, at most the size of `chain`.
static int cmac_encrypt(struct cmac *cmac, const uint8_t *blocks, size_t count) {
    int done = 0;
    return EVP_EncryptUpdate(cmac->siv->mac, cmac->chain, &done, blocks, (int)count) == 1 && done == (int)count;
}

static int cmac_update(struct cmac *cmac, const uint8_t *bytes, size_t count) {
    while (count > 0) {
        if (cmac->filled == 16) {
            if (!cmac_encrypt(cmac, cmac->pending, 16)) return 0;
            cmac->filled = 0;
        }
        size_t step;
        if (cmac->filled == 0 && count > 16) {
            step = (count - 1) / 16 * 16;
            if (step > sizeof cmac->chain) step = sizeof cmac->chain;
            if (!cmac_encrypt(cmac, bytes, step)) return 0;
        } else {
            step = 16 - cmac->filled < count ? 16 - cmac->filled : count;
            memcpy(cmac->pending + cmac->filled, bytes, step);
            cmac->filled += step;
        }
        bytes += step;
        count -= step;
    }
    return 1;
}

static int cmac_finish(struct cmac *cmac, uint8_t tag[16]) {
    if (cmac->filled == 16) {
        xor_block(cmac->pending, cmac->siv->whole);
    } else {
        memset(cmac->pending + cmac->filled, 0, 16 - cmac->filled);
        cmac->pending[cmac->filled] = 0x80;
        xor_block(cmac->pending, cmac->siv->padded);
    }
    if (!cmac_encrypt(cmac, cmac->pending, 16)) return 0;
    memcpy(tag, cmac->chain, 16);
    return 1;
}

// MARK: - S2V

static int s2v(lk_siv *siv, const lk_bytes *data, size_t data_count, const uint8_t *plain, size_t count,
               uint8_t tag[16]) {
    struct cmac cmac;
    uint8_t d[16], block[16];
    memcpy(d, siv->start, 16);
    int good = 1;
    for (size_t i = 0; good && i < data_count; i++) {
        good = cmac_start(&cmac, siv) && cmac_update(&cmac, data[i].start, data[i].count) && cmac_finish(&cmac, block);
        dbl(d);
        xor_block(d, block);
    }
    good = good && cmac_start(&cmac, siv);
    if (count >= 16) {
        good = good && cmac_update(&cmac, plain, count - 16);
        memcpy(block, plain + count - 16, 16);
    } else {
        dbl(d);
        memset(block, 0, 16);
        if (count > 0) memcpy(block, plain, count);
        block[count] = 0x80;
    }
    xor_block(block, d);
    good = good && cmac_update(&cmac, block, 16) && cmac_finish(&cmac, tag);
    OPENSSL_cleanse(&cmac, sizeof cmac);
    OPENSSL_cleanse(d, sizeof d);
    OPENSSL_cleanse(block, sizeof block);
    return good;
}

static int ctr(lk_siv *siv, const uint8_t tag[16], const uint8_t *in, size_t count, uint8_t *out) {
    uint8_t counter[16];
    memcpy(counter, tag, 16);
    counter[8] &= 0x7f; // RFC 5297 section 2.5
    counter[12] &= 0x7f;
    int done = 0;
    if (EVP_EncryptInit_ex2(siv->ctr, NULL, NULL, counter, NULL) != 1) return 0;
    return count == 0 || (EVP_EncryptUpdate(siv->ctr, out, &done, in, (int)count) == 1 && done == (int)count);
}

// MARK: - Contexts

lk_siv *lk_siv_new(const EVP_CIPHER *cbc, const EVP_CIPHER *ctr, const uint8_t key[64]) {
    lk_siv *siv = OPENSSL_secure_zalloc(sizeof *siv);
    if (siv == NULL) return NULL;
    siv->mac = EVP_CIPHER_CTX_new();
    siv->ctr = EVP_CIPHER_CTX_new();
    struct cmac cmac = {.siv = siv};
    int good = siv->mac != NULL && siv->ctr != NULL &&
               EVP_EncryptInit_ex2(siv->mac, cbc, key, zeros, NULL) == 1 &&
               EVP_CIPHER_CTX_set_padding(siv->mac, 0) == 1 &&
               EVP_EncryptInit_ex2(siv->ctr, ctr, key + 32, zeros, NULL) == 1 && cmac_encrypt(&cmac, zeros, 16);
    if (good) {
        memcpy(siv->whole, cmac.chain, 16);
        dbl(siv->whole);
        memcpy(siv->padded, siv->whole, 16);
        dbl(siv->padded);
        good = cmac_start(&cmac, siv) && cmac_update(&cmac, zeros, 16) && cmac_finish(&cmac, siv->start);
    }
    OPENSSL_cleanse(&cmac, sizeof cmac);
    if (good) return siv;
    lk_siv_free(siv);
    return NULL;
}

void lk_siv_free(lk_siv *siv) {
    if (siv == NULL) return;
    EVP_CIPHER_CTX_free(siv->mac);
    EVP_CIPHER_CTX_free(siv->ctr);
    OPENSSL_secure_clear_free(siv, sizeof *siv);
}

int lk_siv_seal(lk_siv *siv, const lk_bytes *data, size_t data_count, const uint8_t *plain, size_t count,
                uint8_t *out) {
    return s2v(siv, data, data_count, plain, count, out) && ctr(siv, out, plain, count, out + 16);
}

int lk_siv_open(lk_siv *siv, const lk_bytes *data, size_t data_count, const uint8_t *sealed, size_t count,
                uint8_t *out) {
    uint8_t tag[16];
    int good = ctr(siv, sealed, sealed + 16, count, out) && s2v(siv, data, data_count, out, count, tag);
    int result = !good ? 0 : CRYPTO_memcmp(tag, sealed, 16) == 0 ? 1 : -1;
    if (result != 1) OPENSSL_cleanse(out, count);
    OPENSSL_cleanse(tag, sizeof tag); // the tag that a forged message would need
    return result;
}

int lk_siv_guess(lk_siv *siv, const uint8_t *sealed, size_t count, uint8_t *out) {
    return ctr(siv, sealed, sealed + 16, count, out);
}
