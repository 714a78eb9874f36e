#define _GNU_SOURCE
#include "Library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

lk_bus_functions lk_libsystemd;
static int is_loaded;

static void load(void) {
    void *library = dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return;
#define LK_FIND(result, name, parameters)                                                                              \
    {                                                                                                                  \
        void *found = dlsym(library, #name);                                                                           \
        if (found == NULL) return;                                                                                     \
        memcpy(&lk_libsystemd.name, &found, sizeof found);                                                             \
    }
    LK_BUS_FUNCTIONS(LK_FIND)
#undef LK_FIND
    is_loaded = 1;
}

int lk_bus_is_loaded(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return is_loaded;
}
