import Foundation
import Tampering
import Testing

extension MountTests {
    /// Vaults made by an attacker who knew the keys, through the real program: mount, read, write, list, lock, unlock,
    /// fsck, repair, passwd, erase, and the reader in Python.
    ///
    /// `LATCHKEY_HOSTILE` selects them: `all`, `WORDS` of a name, or else a sample.
    @Suite struct HostileVaults {
        @Test func nothingLeavesAVaultAndNothingTraps() throws {
            let arena = try Arena()
            let wanted = ProcessInfo.processInfo.environment["LATCHKEY_HOSTILE"]
            let vaults = arena.scene.vaults
            for (index, vault) in vaults.enumerated() {
                let hostile = vault()
                guard isWanted(hostile, index, wanted) else { continue }
                if wanted != nil { print("\(index) of \(vaults.count): \(hostile.name)") }
                do { try arena.use(hostile) } catch { Issue.record("\(hostile.name): \(error)") }
            }
        }

        /// Every run uses the vaults that have found an error before, and a sample of the others: more of those with
        /// many entries than of those in which one thing is wrong.
        private func isWanted(_ hostile: HostileVault, _ index: Int, _ wanted: String?) -> Bool {
            if let wanted { return wanted == "all" || hostile.name.contains(wanted) }
            return hostile.isKnown || index % (hostile.isMountable ? 12 : 200) == 0
        }
    }
}
