#define _GNU_SOURCE
#include "CCrypto.h"
#include "CTPM.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// sealing TCTI [CAPTURE]: seals and unseals, with and without all options, counts, and reports where else the secrets
// can be found then: in its own memory, and in the capture of the traffic with the TPM. Exit status 1 if anywhere.

enum { size = 32 };

// A pattern is stored inverted; otherwise the search would find the pattern itself.
typedef struct {
    const char *name;
    uint8_t inverse[size];
} pattern;

static pattern pattern_of(const char *name, const uint8_t *bytes) {
    pattern made = {name, {0}};
    for (int i = 0; i < size; i++) made.inverse[i] = bytes[i] ^ 0xff;
    return made;
}

// Counts the halves of the pattern too: what overwrites a copy may not reach all of it.
static int find(const pattern *wanted, const uint8_t *start, const uint8_t *end, const char *where) {
    int found = 0;
    for (int half = 0; half < size; half += size / 2) {
        for (const uint8_t *place = start; place + size / 2 <= end; place++) {
            int i = 0;
            while (i < size / 2 && (place[i] ^ 0xff) == wanted->inverse[half + i]) i++;
            if (i < size / 2) continue;
            printf("%s, from byte %d, in %s\n", wanted->name, half, where);
            found++;
        }
    }
    return found;
}

static int find_in_memory(const pattern *wanted) {
    FILE *maps = fopen("/proc/self/maps", "r");
    if (maps == NULL) abort();
    static char line[512];
    int found = 0;
    while (fgets(line, sizeof line, maps) != NULL) {
        unsigned long start, end;
        char access[5];
        if (sscanf(line, "%lx-%lx %4s", &start, &end, access) != 3 || memcmp(access, "rw", 2) != 0) continue;
        found += find(wanted, (const uint8_t *)start, (const uint8_t *)end, line);
    }
    fclose(maps);
    return found;
}

static int find_in_file(const pattern *wanted, const char *path) {
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &status) != 0 || status.st_size < 1000) {
        printf("no capture in %s\n", path);
        return 1;
    }
    uint8_t *bytes = malloc(status.st_size);
    if (bytes == NULL || read(file, bytes, status.st_size) != status.st_size) abort();
    close(file);
    int found = find(wanted, bytes, bytes + status.st_size, path);
    free(bytes);
    return found;
}

static void demand(const char *what, lk_tpm_result result, int kind) {
    if (result.kind == kind) return;
    printf("%s: kind %d, response code 0x%x\n", what, result.kind, result.code);
    exit(2);
}

static int round_trip(lk_tpm *tpm, int with_auth, uint32_t pcrs, const char *capture) {
    uint8_t *secret = lk_secure_allocate(size);
    uint8_t *auth = lk_secure_allocate(size);
    uint8_t *unsealed = lk_secure_allocate(LK_TPM_SECRET_MAX);
    lk_random(secret, size);
    lk_random(auth, size);
    pattern patterns[] = {pattern_of("the secret", secret), pattern_of("the authorization value", auth)};
    // One copy must be found; otherwise the search proves nothing.
    if (find_in_memory(&patterns[0]) != 2 || find_in_memory(&patterns[1]) != 2) exit(2);

    const lk_tpm_access access = {auth, with_auth ? size : 0, pcrs};
    lk_tpm_sealed sealed;
    demand("seal", lk_tpm_seal(tpm, secret, size, &access, &sealed), LK_TPM_DONE);
    int found = find_in_memory(&patterns[0]) - 2 + find_in_memory(&patterns[1]) - 2;

    size_t count = 0;
    demand("unseal", lk_tpm_unseal(tpm, &sealed, &access, unsealed, &count), LK_TPM_DONE);
    if (count != size || memcmp(secret, unsealed, size) != 0) exit(2);
    lk_secure_release(secret, size);
    lk_secure_release(unsealed, LK_TPM_SECRET_MAX);
    found += find_in_memory(&patterns[0]) + find_in_memory(&patterns[1]) - 2;

    if (with_auth) {
        auth[0] ^= 1;
        demand("unseal", lk_tpm_unseal(tpm, &sealed, &access, sealed.public_part, &count), LK_TPM_WRONG_AUTH);
        patterns[1].inverse[0] ^= 1;
    }
    lk_secure_release(auth, size);
    found += find_in_memory(&patterns[1]);
    if (capture != NULL) found += find_in_file(&patterns[0], capture) + find_in_file(&patterns[1], capture);
    return found;
}

static int count_up(lk_tpm *tpm, const char *capture) {
    uint8_t *auth = lk_secure_allocate(size);
    lk_random(auth, size);
    pattern wanted = pattern_of("a counter's authorization value", auth);
    if (find_in_memory(&wanted) != 2) exit(2);

    uint32_t index;
    uint64_t made, value;
    demand("make", lk_tpm_counter_make(tpm, auth, &index, &made), LK_TPM_DONE);
    int found = find_in_memory(&wanted) - 2;
    demand("increment", lk_tpm_counter_increment(tpm, index, auth, 2, &value), LK_TPM_DONE);
    if (value != made + 2) exit(2);
    found += find_in_memory(&wanted) - 2;
    auth[0] ^= 1;
    demand("increment", lk_tpm_counter_increment(tpm, index, auth, 1, &value), LK_TPM_WRONG_AUTH);
    auth[0] ^= 1;
    demand("remove", lk_tpm_counter_remove(tpm, index, auth), LK_TPM_DONE);
    lk_secure_release(auth, size);
    found += find_in_memory(&wanted);
    if (capture != NULL) found += find_in_file(&wanted, capture);
    return found;
}

int main(int count, char **words) {
    if (count < 2 || lk_secure_heap_start(4 << 20) != LK_HEAP_LOCKED) return 2;
    // The lines that are read and written lie in memory to which the patterns were never copied.
    setvbuf(stdout, NULL, _IONBF, 0);
    lk_tpm *tpm;
    demand("open", lk_tpm_open(words[1], &tpm), LK_TPM_DONE);
    int found = 0;
    for (int way = 0; way < 4; way++)
        found += round_trip(tpm, way & 1, way & 2 ? 0x85 : 0, count > 2 ? words[2] : NULL);
    found += count_up(tpm, count > 2 ? words[2] : NULL);
    lk_tpm_close(tpm);
    return found == 0 ? 0 : 1;
}
