#define _GNU_SOURCE
#include "Library.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

long long lk_fido2_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

lk_fido2_result lk_fido2_list(char paths[LK_FIDO2_KEYS_MAX * LK_FIDO2_PATH_MAX], size_t *count) {
    *count = 0;
    if (!lk_fido2_is_loaded()) return (lk_fido2_result){LK_FIDO2_NO_LIBRARY, 0};
    fido_dev_info_t *infos = lk_libfido2.fido_dev_info_new(LK_FIDO2_KEYS_MAX);
    size_t found = 0;
    if (infos == NULL) return (lk_fido2_result){LK_FIDO2_OTHER, 0};
    lk_fido2_result result =
        lk_fido2_meaning(lk_libfido2.fido_dev_info_manifest(infos, LK_FIDO2_KEYS_MAX, &found));
    for (size_t i = 0; result.kind == LK_FIDO2_DONE && i < found; i++) {
        const char *path = lk_libfido2.fido_dev_info_path(lk_libfido2.fido_dev_info_ptr(infos, i));
        if (path == NULL || strlen(path) >= LK_FIDO2_PATH_MAX) continue;
        strcpy(paths + LK_FIDO2_PATH_MAX * (*count)++, path);
    }
    lk_libfido2.fido_dev_info_free(&infos, LK_FIDO2_KEYS_MAX);
    return result;
}

static int has(char **names, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0) return 1;
    return 0;
}

// Whether the key supports what is needed. CTAP 2.1, 6.4.
static lk_fido2_result check(lk_fido2 *key) {
    if (!lk_libfido2.fido_dev_is_fido2(key->device)) return (lk_fido2_result){LK_FIDO2_UNFIT, 0};
    fido_cbor_info_t *info = lk_libfido2.fido_cbor_info_new();
    if (info == NULL) return (lk_fido2_result){LK_FIDO2_OTHER, 0};
    lk_fido2_result result = lk_fido2_meaning(lk_libfido2.fido_dev_get_cbor_info(key->device, info));
    if (result.kind == LK_FIDO2_DONE) {
        int is_fit = has(lk_libfido2.fido_cbor_info_extensions_ptr(info),
                         lk_libfido2.fido_cbor_info_extensions_len(info), "hmac-secret");
        if (!is_fit) result.kind = LK_FIDO2_UNFIT;
        key->has_two_secrets = has(lk_libfido2.fido_cbor_info_versions_ptr(info),
                                   lk_libfido2.fido_cbor_info_versions_len(info), "FIDO_2_1");
    }
    lk_libfido2.fido_cbor_info_free(&info);
    return result;
}

lk_fido2_result lk_fido2_open(const char *path, int milliseconds, lk_fido2 **key) {
    *key = NULL;
    if (!lk_fido2_is_loaded()) return (lk_fido2_result){LK_FIDO2_NO_LIBRARY, 0};
    lk_fido2 *opened = calloc(1, sizeof *opened);
    if (opened == NULL) return (lk_fido2_result){LK_FIDO2_OTHER, 0};
    opened->patience = milliseconds;
    opened->device = lk_libfido2.fido_dev_new();
    lk_fido2_result result = {opened->device == NULL ? LK_FIDO2_OTHER : LK_FIDO2_DONE, 0};
    if (result.kind == LK_FIDO2_DONE && strncmp(path, "socket:", 7) == 0)
        result = lk_fido2_meaning(lk_libfido2.fido_dev_set_io_functions(opened->device, &lk_fido2_socket));
    if (result.kind == LK_FIDO2_DONE)
        result = lk_fido2_meaning(lk_libfido2.fido_dev_set_timeout(opened->device, milliseconds));
    if (result.kind == LK_FIDO2_DONE) {
        result = lk_fido2_meaning(lk_libfido2.fido_dev_open(opened->device, path));
        if (result.kind == LK_FIDO2_DONE) {
            result = check(opened);
        } else {
            // Whatever the error of a device that cannot be opened.
            result.kind = LK_FIDO2_NO_DEVICE;
        }
    }
    if (result.kind != LK_FIDO2_DONE) {
        lk_fido2_close(opened);
        return result;
    }
    *key = opened;
    return result;
}

void lk_fido2_close(lk_fido2 *key) {
    if (key == NULL) return;
    if (key->device != NULL) {
        lk_libfido2.fido_dev_close(key->device);
        lk_libfido2.fido_dev_free(&key->device);
    }
    free(key);
}

lk_fido2_result lk_fido2_touched(lk_fido2 *key, int code, long long begun) {
    lk_fido2_result result = lk_fido2_meaning(code);
    // libfido2 has given up, with the same error as for a key that is gone. The key itself still waits.
    if (result.kind == LK_FIDO2_NO_DEVICE && lk_fido2_now() - begun >= key->patience) {
        lk_libfido2.fido_dev_cancel(key->device);
        result.kind = LK_FIDO2_NOT_TOUCHED;
    }
    return result;
}

int lk_fido2_has_pin(const lk_fido2 *key) { return lk_libfido2.fido_dev_has_pin(key->device); }

int lk_fido2_has_two_secrets(const lk_fido2 *key) { return key->has_two_secrets; }

lk_fido2_result lk_fido2_tries(lk_fido2 *key, int *tries) {
    return lk_fido2_meaning(lk_libfido2.fido_dev_get_retry_count(key->device, tries));
}
