# shellcheck shell=bash
# The PAM module, in C and without Swift's runtime. tools/install and tools/package source this behind common.sh.
# shellcheck disable=SC2154 # common.sh sets top.

# Whether the module can be built here; the Debian packages are gcc and libpam0g-dev.
can_build_pam() {
    command -v cc >/dev/null &&
        cc -E -include security/pam_modules.h -include security/pam_ext.h -x c /dev/null >/dev/null 2>&1
}

# build_pam FILE PROGRAM [OPTION...]: builds the module, which runs the program at that path. The options go to the
# compiler.
build_pam() {
    local file=$1 program=$2
    shift 2
    cc -std=gnu17 -D_GNU_SOURCE -D_FORTIFY_SOURCE=2 -DLATCHKEY_PROGRAM="\"$program\"" -O2 -Wall -Wextra -Wconversion \
        -Werror -fPIC -fvisibility=hidden -fstack-protector-strong -fstack-clash-protection \
        -ffile-prefix-map="$top=." -shared -Wl,-z,relro,-z,now,-z,defs -Wl,--as-needed "$@" -o "$file" \
        "$top"/Sources/pam_latchkey/*.c -lpam
}
