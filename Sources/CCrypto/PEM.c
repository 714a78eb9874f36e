#include "CCrypto.h"
#include <openssl/pem.h>
#include <string.h>

typedef struct {
    const void *bytes;
    size_t count;
    int was_asked;
} passphrase;

static int give_passphrase(char *buffer, int size, int writing, void *user) {
    (void)writing;
    passphrase *given = user;
    given->was_asked = 1;
    // A negative number is an error; 0 would be an empty passphrase.
    if (given->bytes == NULL || given->count > (size_t)size) return -1;
    memcpy(buffer, given->bytes, given->count);
    return (int)given->count;
}

int lk_x25519_read_private(const void *pem, size_t count, const void *bytes, size_t bytes_count, uint8_t key[32]) {
    passphrase given = {bytes, bytes_count, 0};
    BIO *input = BIO_new_mem_buf(pem, (int)count);
    if (input == NULL) return LK_PEM_NO_KEY;
    EVP_PKEY *found = PEM_read_bio_PrivateKey(input, NULL, give_passphrase, &given);
    BIO_free(input);
    ERR_clear_error();
    if (found == NULL) return given.was_asked ? LK_PEM_PASSPHRASE : LK_PEM_NO_KEY;
    size_t length = 32;
    int is_right =
        EVP_PKEY_is_a(found, "X25519") && EVP_PKEY_get_raw_private_key(found, key, &length) == 1 && length == 32;
    EVP_PKEY_free(found);
    ERR_clear_error();
    return is_right ? LK_PEM_READ : LK_PEM_NO_KEY;
}

int lk_x25519_read_public(const void *pem, size_t count, uint8_t key[32]) {
    BIO *input = BIO_new_mem_buf(pem, (int)count);
    if (input == NULL) return LK_PEM_NO_KEY;
    EVP_PKEY *found = PEM_read_bio_PUBKEY(input, NULL, NULL, NULL);
    BIO_free(input);
    ERR_clear_error();
    if (found == NULL) return LK_PEM_NO_KEY;
    size_t length = 32;
    int is_right =
        EVP_PKEY_is_a(found, "X25519") && EVP_PKEY_get_raw_public_key(found, key, &length) == 1 && length == 32;
    EVP_PKEY_free(found);
    ERR_clear_error();
    return is_right ? LK_PEM_READ : LK_PEM_NO_KEY;
}
