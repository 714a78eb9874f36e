import Foundation
import TestSupport
import Testing

extension MountTests {
    /// Ordinary use with locks and unlocks in between: a build, git, SQLite, an editor. Every byte must be right.
    ///
    /// LATCHKEY_SOAK_SECONDS is the duration; an hour is 3600. LATCHKEY_SOAK_SEED repeats a run.
    @Suite struct OrdinaryUse {
        private static func setting(_ name: String, _ usual: Int) -> Int {
            ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? usual
        }

        @Test func showsNoWrongByte() throws {
            let seconds = Self.setting("LATCHKEY_SOAK_SECONDS", 25)
            let seed = Self.setting("LATCHKEY_SOAK_SEED", Int(Date().timeIntervalSince1970))
            let vault = try Vault(["--default-class", "complete"])
            let outside = try vault.folder.makeFolder("outside")
            var steps = 0
            var locks = 0
            var turns = 0
            let end = ContinuousClock.now + .seconds(seconds)
            var numbers = SeededRandom(UInt64(seed))
            repeat {
                // Each turn has a mount of its own: the next one must read what the previous one has written.
                try withMount(vault, grace: 1) { mount in
                    let inside = mount.file("home")
                    var work = Workload(inside: inside, outside: outside, numbers: numbers)
                    if turns == 0 {
                        try shell("mkdir '\(inside)'").succeeded()
                        try work.begin()
                    }
                    try work.compare()
                    for _ in 0..<12 where ContinuousClock.now < end || turns == 0 {
                        try work.step(steps)
                        steps += 1
                        if work.random(3) == 0 {
                            try lockAndUnlock(mount, inside, gently: work.random(4) == 0)
                            locks += 1
                        }
                    }
                    try work.compare()
                    numbers = work.numbers
                }
                turns += 1
            } while ContinuousClock.now < end
            print("ordinary use: \(steps) steps, \(locks) locks, \(turns) mounts, seed \(seed)")
            #expect(steps > 0 && locks > 0)
        }

        /// While locked the work is refused, and has no other effect.
        private func lockAndUnlock(_ mount: MountedVault, _ inside: String, gently: Bool) throws {
            try mount.latchkey(["lock", mount.path, "--wait"] + (gently ? [] : ["--now"])).succeeded()
            let refused = try attemptShell(
                """
                refused() { if "$@" > /dev/null; then echo "$*" >&2; exit 1; fi; }
                refused cat project/main.c
                refused git -C project log -1
                refused sqlite3 rollback.db 'SELECT * FROM t;'
                """, in: inside)
            #expect(refused.status == 0, "not refused while locked: \(refused)")
            try mount.unlock()
        }
    }
}
