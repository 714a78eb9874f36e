#define _GNU_SOURCE
#include "CCrypto.h"
#include <argon2.h>
#include <sys/mman.h>

// The working memory is too large to lock, and every block of it depends on the passcode: keep it out of core files.
// libargon2 wipes it before it calls unmap (FLAG_clear_internal_memory, on by default).

static int map(uint8_t **memory, size_t count) {
    void *start = mmap(NULL, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) return ARGON2_MEMORY_ALLOCATION_ERROR;
    if (madvise(start, count, MADV_DONTDUMP) != 0) {
        munmap(start, count);
        return ARGON2_MEMORY_ALLOCATION_ERROR;
    }
    *memory = start;
    return ARGON2_OK;
}

static void unmap(uint8_t *memory, size_t count) {
    munmap(memory, count);
}

int lk_argon2id(const void *passcode, size_t passcode_count, const void *salt, size_t salt_count,
                const void *secret, size_t secret_count, const void *data, size_t data_count, uint32_t memory_kib,
                uint32_t passes, uint32_t lanes, void *out, size_t out_count) {
    // libargon2 writes to its inputs only when a flag asks it to.
    argon2_context context = {
        .out = out,
        .outlen = (uint32_t)out_count,
        .pwd = (uint8_t *)passcode,
        .pwdlen = (uint32_t)passcode_count,
        .salt = (uint8_t *)salt,
        .saltlen = (uint32_t)salt_count,
        .secret = secret_count > 0 ? (uint8_t *)secret : NULL,
        .secretlen = (uint32_t)secret_count,
        .ad = data_count > 0 ? (uint8_t *)data : NULL,
        .adlen = (uint32_t)data_count,
        .t_cost = passes,
        .m_cost = memory_kib,
        .lanes = lanes,
        .threads = lanes,
        .version = ARGON2_VERSION_13,
        .allocate_cbk = map,
        .free_cbk = unmap,
        .flags = ARGON2_DEFAULT_FLAGS,
    };
    int result = argon2id_ctx(&context);
    if (result == ARGON2_THREAD_FAIL) {
        // If no threads are available, one thread computes the lanes in turn, with the same result.
        context.threads = 1;
        result = argon2id_ctx(&context);
    }
    return result;
}

const char *lk_argon2_message(int error) {
    return argon2_error_message(error);
}
