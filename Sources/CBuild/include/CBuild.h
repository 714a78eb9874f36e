/// What only the build knows.
#pragma once

/// The commit that the program was built from, with -dirty if files were changed since; "unknown" if the build was not
/// told: Package.swift takes it from LATCHKEY_COMMIT.
const char *lk_build_commit(void);
