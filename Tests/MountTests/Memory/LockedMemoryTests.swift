import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// Buffers with plaintext are locked against swap as far as the daemon's limit allows; beyond it the daemon works,
    /// and says so.
    @Suite struct LockedMemory {
        private static let mebibyte = 1 << 20
        /// Of the keys.
        private static let arena = 4 << 20

        private func lockedBytes(_ mount: MountedVault) throws -> Int {
            let status = try String(contentsOfFile: "/proc/\(mount.daemon.pid)/status", encoding: .utf8)
            let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmLck:") })
            return try #require(Int(line.split(whereSeparator: { $0.isWhitespace })[1])) << 10
        }

        private func unlockedBytes(_ mount: MountedVault) throws -> Int {
            let outcome = try mount.latchkey("status", "--json", mount.path).succeeded()
            let json = try JSONSerialization.jsonObject(with: Data(outcome.output)) as? [String: Any]
            return try #require(json?["unlockedMemory"] as? Int)
        }

        /// Every thread of the daemon answers requests of each kind.
        private func work(in mount: MountedVault) throws {
            try shell(
                """
                jobs=; for name in $(seq 24); do
                    (head -c 3000000 /dev/urandom > $name; cp $name $name.copy; cmp $name $name.copy) & jobs="$jobs $!"
                done
                for job in $jobs; do wait $job; done
                """, in: mount.path
            ).succeeded()
        }

        @Test func allOfItIsLockedWhereTheLimitAllows() throws {
            guard try run("sh", ["-c", "ulimit -Hl"]).text == "unlimited\n" || geteuid() == 0 else { return }
            try withMount(try Vault()) { mount in
                try work(in: mount)
                let unlocked = try unlockedBytes(mount)
                #expect(unlocked == 0)
                // Twelve receive buffers, and the least that one read needs.
                #expect(try lockedBytes(mount) > Self.arena + 13 * Self.mebibyte)
                let text = try mount.latchkey("status", mount.path).succeeded().text
                #expect(!text.contains("may be swapped out") && !mount.messages.contains("may be swapped out"))
            }
        }

        @Test func whatIsNotLockedIsTold() throws {
            let limit = 6 * Self.mebibyte
            let plain = ["prlimit", "--memlock=\(limit):\(limit)"]
            let program = geteuid() == 0 ? ["setpriv", "--bounding-set", "-ipc_lock"] + plain : plain
            let mount = try MountedVault(try Vault(), through: program)
            try work(in: mount)
            #expect(try lockedBytes(mount) <= limit)
            #expect(try lockedBytes(mount) > Self.arena)
            #expect(try unlockedBytes(mount) > 10 * Self.mebibyte)
            let text = try mount.latchkey("status", mount.path).succeeded().text
            #expect(text.contains("of buffers for contents may be swapped out:"), "\(text)")
            try mount.lockNow()
            try mount.unlock()
            try mount.unmount()
            #expect(mount.messages.components(separatedBy: "may be swapped out").count == 2, "\(mount.messages)")
        }
    }
}
