#define _GNU_SOURCE
#include "Library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

lk_fido2_functions lk_libfido2;
static int is_loaded;

static int find(const char *name, lk_fido2_functions *functions) {
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return 0;
#define LK_FIND(result, name, parameters)                                                                              \
    {                                                                                                                  \
        void *found = dlsym(library, #name);                                                                           \
        if (found == NULL) return 0;                                                                                   \
        memcpy(&functions->name, &found, sizeof found);                                                                \
    }
    LK_FIDO2_FUNCTIONS(LK_FIND)
#undef LK_FIND
    return 1;
}

static void load(void) {
    if (!find("libfido2.so.1", &lk_libfido2)) return;
    // With this, libfido2 would print all traffic with the key.
    unsetenv("FIDO_DEBUG");
    lk_libfido2.fido_init(0);
    is_loaded = 1;
}

int lk_fido2_is_loaded(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return is_loaded;
}

int lk_fido2_can_load(const char *library) {
    lk_fido2_functions functions;
    return find(library, &functions);
}
