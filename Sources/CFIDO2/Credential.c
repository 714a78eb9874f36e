#define _GNU_SOURCE
#include "CCrypto.h"
#include "Library.h"

#include <string.h>

// The data that a signature would cover. No signature is checked: the secret proves itself.
static const unsigned char no_client_data[32];

static const unsigned char user[] = "latchkey";

__attribute__((noinline)) static lk_fido2_result make(lk_fido2 *key, const char *party, const char *pin,
                                                      fido_cred_t *cred, uint8_t *credential, size_t *count) {
    int code = lk_libfido2.fido_cred_set_type(cred, LK_COSE_ES256);
    if (code == 0)
        code = lk_libfido2.fido_cred_set_clientdata_hash(cred, no_client_data, sizeof no_client_data);
    if (code == 0) code = lk_libfido2.fido_cred_set_rp(cred, party, "Latchkey");
    if (code == 0)
        code = lk_libfido2.fido_cred_set_user(cred, user, sizeof user - 1, "latchkey", "Latchkey", NULL);
    if (code == 0) code = lk_libfido2.fido_cred_set_extensions(cred, LK_EXT_HMAC_SECRET);
    long long begun = lk_fido2_now();
    if (code == 0) code = lk_libfido2.fido_dev_make_cred(key->device, cred, pin);
    if (code != 0) return lk_fido2_touched(key, code, begun);
    size_t size = lk_libfido2.fido_cred_id_len(cred);
    if (size == 0 || size > LK_FIDO2_CREDENTIAL_MAX) return (lk_fido2_result){LK_FIDO2_UNFIT, 0};
    memcpy(credential, lk_libfido2.fido_cred_id_ptr(cred), size);
    *count = size;
    return (lk_fido2_result){LK_FIDO2_DONE, 0};
}

lk_fido2_result lk_fido2_make(lk_fido2 *key, const char *party, const char *pin,
                              uint8_t credential[LK_FIDO2_CREDENTIAL_MAX], size_t *count) {
    *count = 0;
    fido_cred_t *cred = lk_libfido2.fido_cred_new();
    if (cred == NULL) return (lk_fido2_result){LK_FIDO2_OTHER, 0};
    lk_fido2_result result = make(key, party, pin, cred, credential, count);
    lk_libfido2.fido_cred_free(&cred);
    lk_wipe_stack();
    return result;
}

static int prepare(fido_assert_t *assert, const char *party, const void *credential, size_t count) {
    int code = lk_libfido2.fido_assert_set_clientdata_hash(assert, no_client_data, sizeof no_client_data);
    if (code == 0) code = lk_libfido2.fido_assert_set_rp(assert, party);
    if (code == 0) code = lk_libfido2.fido_assert_allow_cred(assert, credential, count);
    return code;
}

lk_fido2_result lk_fido2_find(lk_fido2 *key, const char *party, const void *credential, size_t count,
                              const char *pin) {
    fido_assert_t *assert = lk_libfido2.fido_assert_new();
    if (assert == NULL) return (lk_fido2_result){LK_FIDO2_OTHER, 0};
    int code = prepare(assert, party, credential, count);
    if (code == 0) code = lk_libfido2.fido_assert_set_up(assert, LK_OPT_FALSE);
    if (code == 0) code = lk_libfido2.fido_dev_get_assert(key->device, assert, pin);
    lk_libfido2.fido_assert_free(&assert);
    lk_wipe_stack();
    return lk_fido2_meaning(code);
}

__attribute__((noinline)) static lk_fido2_result derive(lk_fido2 *key, fido_assert_t *assert, const uint8_t *salt,
                                                        const char *pin, int with_touch, uint8_t *secret) {
    int code = lk_libfido2.fido_assert_set_extensions(assert, LK_EXT_HMAC_SECRET);
    if (code == 0) code = lk_libfido2.fido_assert_set_hmac_salt(assert, salt, LK_FIDO2_SALT_SIZE);
    if (code == 0) code = lk_libfido2.fido_assert_set_up(assert, with_touch ? LK_OPT_OMIT : LK_OPT_FALSE);
    long long begun = lk_fido2_now();
    if (code == 0) code = lk_libfido2.fido_dev_get_assert(key->device, assert, pin);
    if (code != 0) return lk_fido2_touched(key, code, begun);
    // A key that answers without the extension has not done what was requested.
    const unsigned char *found = NULL;
    if (lk_libfido2.fido_assert_count(assert) != 1 ||
        lk_libfido2.fido_assert_hmac_secret_len(assert, 0) != LK_FIDO2_SECRET_SIZE ||
        (found = lk_libfido2.fido_assert_hmac_secret_ptr(assert, 0)) == NULL)
        return (lk_fido2_result){LK_FIDO2_UNFIT, 0};
    memcpy(secret, found, LK_FIDO2_SECRET_SIZE);
    // This memory belongs to the assertion, which is freed next.
    explicit_bzero((void *)(uintptr_t)found, LK_FIDO2_SECRET_SIZE);
    return (lk_fido2_result){LK_FIDO2_DONE, 0};
}

lk_fido2_result lk_fido2_derive(lk_fido2 *key, const char *party, const void *credential, size_t count,
                                const uint8_t salt[LK_FIDO2_SALT_SIZE], const char *pin, int with_touch,
                                uint8_t secret[LK_FIDO2_SECRET_SIZE]) {
    fido_assert_t *assert = lk_libfido2.fido_assert_new();
    if (assert == NULL) return (lk_fido2_result){LK_FIDO2_OTHER, 0};
    lk_fido2_result result = lk_fido2_meaning(prepare(assert, party, credential, count));
    if (result.kind == LK_FIDO2_DONE) result = derive(key, assert, salt, pin, with_touch, secret);
    lk_libfido2.fido_assert_free(&assert);
    lk_wipe_stack();
    return result;
}
