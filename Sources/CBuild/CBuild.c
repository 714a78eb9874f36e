#include "CBuild.h"

#ifndef LATCHKEY_COMMIT
#define LATCHKEY_COMMIT unknown
#endif

#define TEXT(words) #words
#define TEXT_OF(macro) TEXT(macro)

// A file of its own: another commit compiles nothing else anew.
const char *lk_build_commit(void) { return TEXT_OF(LATCHKEY_COMMIT); }
