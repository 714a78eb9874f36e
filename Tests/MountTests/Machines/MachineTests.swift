import Foundation
import TestSupport
import Testing

extension MountTests {
    /// Two machines that reach one vault, and do not see each other's locks. `tools/two-machines` does it at random.
    @Suite(.serialized) struct Machines {
        private func play(_ scene: String) throws {
            guard geteuid() == 0, OtherStore.hasSSH else {
                Issue.record("NOT TESTED: two machines: they need root and sshfs")
                return
            }
            let folder = try TemporaryFolder()
            let here = URL(filePath: #filePath).deletingLastPathComponent()
            let library = here.appending(path: "../../../tools/lib").standardized.path
            try run(
                "python3",
                ["-B", here.appending(path: "scenes.py").path, library, Built.latchkey, folder.path, scene])
        }

        @Test func theVaultOfAMachineThatLives() throws { try play("refused") }

        @Test func theVaultOfAMachineThatHasDied() throws { try play("dies") }

        @Test func aMachineThatSlept() throws { try play("sleeps") }

        @Test func aDaemonThatWasKilled() throws { try play("returns") }
    }
}
