#ifndef LATCHKEY_CFIDO2_LIBRARY_H
#define LATCHKEY_CFIDO2_LIBRARY_H

#include "CFIDO2.h"
#include <stdbool.h>

// The functions used of libfido2 1.12 or later, declared here: none of its headers is needed to build, and its types
// stay opaque. Source: its manual pages.

typedef struct fido_dev fido_dev_t;
typedef struct fido_dev_info fido_dev_info_t;
typedef struct fido_cbor_info fido_cbor_info_t;
typedef struct fido_cred fido_cred_t;
typedef struct fido_assert fido_assert_t;

/// fido_dev_set_io_functions(3).
typedef struct {
    void *(*open)(const char *path);
    void (*close)(void *handle);
    int (*read)(void *handle, unsigned char *bytes, size_t count, int milliseconds);
    int (*write)(void *handle, const unsigned char *bytes, size_t count);
} fido_dev_io_t;

enum {
    LK_COSE_ES256 = -7,
    LK_EXT_HMAC_SECRET = 1,
    /// fido_opt_t.
    LK_OPT_OMIT = 0,
    LK_OPT_FALSE = 1,
};

#define LK_FIDO2_FUNCTIONS(F)                                                                                          \
    F(void, fido_init, (int flags))                                                                                    \
    F(fido_dev_info_t *, fido_dev_info_new, (size_t count))                                                            \
    F(int, fido_dev_info_manifest, (fido_dev_info_t * infos, size_t room, size_t *count))                              \
    F(const fido_dev_info_t *, fido_dev_info_ptr, (const fido_dev_info_t *infos, size_t index))                        \
    F(const char *, fido_dev_info_path, (const fido_dev_info_t *info))                                                 \
    F(void, fido_dev_info_free, (fido_dev_info_t * *infos, size_t count))                                              \
    F(fido_dev_t *, fido_dev_new, (void))                                                                              \
    F(int, fido_dev_set_io_functions, (fido_dev_t * key, const fido_dev_io_t *io))                                     \
    F(int, fido_dev_set_timeout, (fido_dev_t * key, int milliseconds))                                                 \
    F(int, fido_dev_open, (fido_dev_t * key, const char *path))                                                        \
    F(int, fido_dev_cancel, (fido_dev_t * key))                                                                        \
    F(int, fido_dev_close, (fido_dev_t * key))                                                                         \
    F(void, fido_dev_free, (fido_dev_t * *key))                                                                        \
    F(bool, fido_dev_is_fido2, (const fido_dev_t *key))                                                                \
    F(bool, fido_dev_has_pin, (const fido_dev_t *key))                                                                 \
    F(int, fido_dev_get_retry_count, (fido_dev_t * key, int *tries))                                                   \
    F(fido_cbor_info_t *, fido_cbor_info_new, (void))                                                                  \
    F(int, fido_dev_get_cbor_info, (fido_dev_t * key, fido_cbor_info_t *info))                                         \
    F(char **, fido_cbor_info_extensions_ptr, (const fido_cbor_info_t *info))                                          \
    F(size_t, fido_cbor_info_extensions_len, (const fido_cbor_info_t *info))                                           \
    F(char **, fido_cbor_info_versions_ptr, (const fido_cbor_info_t *info))                                            \
    F(size_t, fido_cbor_info_versions_len, (const fido_cbor_info_t *info))                                             \
    F(void, fido_cbor_info_free, (fido_cbor_info_t * *info))                                                           \
    F(fido_cred_t *, fido_cred_new, (void))                                                                            \
    F(int, fido_cred_set_type, (fido_cred_t * cred, int algorithm))                                                    \
    F(int, fido_cred_set_clientdata_hash, (fido_cred_t * cred, const unsigned char *hash, size_t count))               \
    F(int, fido_cred_set_rp, (fido_cred_t * cred, const char *id, const char *name))                                   \
    F(int, fido_cred_set_user,                                                                                         \
      (fido_cred_t * cred, const unsigned char *id, size_t count, const char *name, const char *shown,                 \
       const char *icon))                                                                                              \
    F(int, fido_cred_set_extensions, (fido_cred_t * cred, int extensions))                                             \
    F(int, fido_dev_make_cred, (fido_dev_t * key, fido_cred_t *cred, const char *pin))                                 \
    F(const unsigned char *, fido_cred_id_ptr, (const fido_cred_t *cred))                                              \
    F(size_t, fido_cred_id_len, (const fido_cred_t *cred))                                                             \
    F(void, fido_cred_free, (fido_cred_t * *cred))                                                                     \
    F(fido_assert_t *, fido_assert_new, (void))                                                                        \
    F(int, fido_assert_set_clientdata_hash, (fido_assert_t * assert, const unsigned char *hash, size_t count))         \
    F(int, fido_assert_set_rp, (fido_assert_t * assert, const char *id))                                               \
    F(int, fido_assert_allow_cred, (fido_assert_t * assert, const unsigned char *id, size_t count))                    \
    F(int, fido_assert_set_extensions, (fido_assert_t * assert, int extensions))                                       \
    F(int, fido_assert_set_hmac_salt, (fido_assert_t * assert, const unsigned char *salt, size_t count))               \
    F(int, fido_assert_set_up, (fido_assert_t * assert, int option))                                                   \
    F(int, fido_dev_get_assert, (fido_dev_t * key, fido_assert_t *assert, const char *pin))                            \
    F(size_t, fido_assert_count, (const fido_assert_t *assert))                                                        \
    F(const unsigned char *, fido_assert_hmac_secret_ptr, (const fido_assert_t *assert, size_t index))                 \
    F(size_t, fido_assert_hmac_secret_len, (const fido_assert_t *assert, size_t index))                                \
    F(void, fido_assert_free, (fido_assert_t * *assert))

typedef struct {
#define LK_FIELD(result, name, parameters) result(*name) parameters;
    LK_FIDO2_FUNCTIONS(LK_FIELD)
#undef LK_FIELD
} lk_fido2_functions;

/// Valid after lk_fido2_is_loaded has returned true.
extern lk_fido2_functions lk_libfido2;

/// Loads libfido2 unless that has been done.
int lk_fido2_is_loaded(void);

struct lk_fido2 {
    fido_dev_t *device;
    int patience;
    int has_two_secrets;
};

/// The result of an operation that waits for a touch and began at that time: milliseconds of CLOCK_MONOTONIC.
lk_fido2_result lk_fido2_touched(lk_fido2 *key, int code, long long begun);

long long lk_fido2_now(void);

/// The meaning of an error of libfido2 or of the key.
lk_fido2_result lk_fido2_meaning(int code);

/// A key on a Unix socket.
extern const fido_dev_io_t lk_fido2_socket;

#endif
