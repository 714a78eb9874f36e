#define _GNU_SOURCE
#include "Library.h"

#ifdef LK_HAS_TSS2
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

lk_tss2_functions lk_tss2;
static int is_loaded;

static void load(void) {
    // Otherwise tpm2-tss prints each refusal to standard error. Each of its modules reads this when it first logs.
    setenv("TSS2_LOG", "all+NONE", 0);

    // A search in libtss2-esys includes the libraries that it was linked with: libtss2-sys and libtss2-mu.
    void *esys = dlopen("libtss2-esys.so.0", RTLD_NOW | RTLD_LOCAL);
    void *loader = dlopen("libtss2-tctildr.so.0", RTLD_NOW | RTLD_LOCAL);
    if (esys == NULL || loader == NULL) return;
#define LK_FIND(name)                                                                                                  \
    {                                                                                                                  \
        void *found = dlsym(strncmp(#name, "Tss2_TctiLdr", 12) == 0 ? loader : esys, #name);                           \
        if (found == NULL) return;                                                                                     \
        memcpy(&lk_tss2.name, &found, sizeof found);                                                                   \
    }
    LK_TSS2_FUNCTIONS(LK_FIND)
#undef LK_FIND
    is_loaded = 1;
}

static TSS2_RC connect_to(const char *tcti, TSS2_TCTI_CONTEXT **context) {
    if (tcti != NULL) return lk_tss2.Tss2_TctiLdr_Initialize(tcti, context);
    // What tctildr tries by default, without simulators on ports of localhost.
    static const char *const usual[] = {"device:/dev/tpmrm0", "device:/dev/tpm0", "tabrmd"};
    TSS2_RC code = TSS2_TCTI_RC_NO_CONNECTION;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        code = lk_tss2.Tss2_TctiLdr_Initialize(usual[i], context);
        if (code == TSS2_RC_SUCCESS) break;
    }
    return code;
}

lk_tpm_result lk_tpm_open(const char *tcti, lk_tpm **tpm) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    *tpm = NULL;
    if (!is_loaded) return (lk_tpm_result){LK_TPM_NO_LIBRARY, 0};

    lk_tpm *opened = calloc(1, sizeof *opened);
    if (opened == NULL) return (lk_tpm_result){LK_TPM_OTHER, TSS2_ESYS_RC_MEMORY};
    TSS2_RC code = connect_to(tcti, &opened->tcti);
    if (code == TSS2_RC_SUCCESS) code = lk_tss2.Esys_Initialize(&opened->esys, opened->tcti, NULL);
    if (code != TSS2_RC_SUCCESS) {
        lk_tpm_close(opened);
        return (lk_tpm_result){LK_TPM_NO_DEVICE, code};
    }
    *tpm = opened;
    return (lk_tpm_result){LK_TPM_DONE, 0};
}

void lk_tpm_close(lk_tpm *tpm) {
    if (tpm == NULL) return;
    if (tpm->esys != NULL) lk_tss2.Esys_Finalize(&tpm->esys);
    if (tpm->tcti != NULL) lk_tss2.Tss2_TctiLdr_Finalize(&tpm->tcti);
    free(tpm);
}

#endif
