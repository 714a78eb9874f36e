#include "CCrypto.h"
#include <stdlib.h>
#include <string.h>

// OpenSSL's own report of the features that it uses: bit 57 of the first number is CPUID's AES-NI on x86-64, bit 2
// ARMv8's AES extension (OPENSSL_ia32cap(3), arm_arch.h).
int lk_uses_aes_instructions(void) {
    static const struct {
        const char *name;
        int bit;
    } kinds[] = {{"OPENSSL_ia32cap=", 57}, {"OPENSSL_armcap=", 2}};
    const char *settings = OPENSSL_info(OPENSSL_INFO_CPU_SETTINGS);
    if (settings == NULL) return 0;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        size_t count = strlen(kinds[i].name);
        if (strncmp(settings, kinds[i].name, count) == 0)
            return strtoull(settings + count, NULL, 16) >> kinds[i].bit & 1;
    }
    return 0;
}
