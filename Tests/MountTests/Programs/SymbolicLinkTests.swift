import Foundation
import TestSupport
import Testing

extension MountTests {
    /// Links whose encrypted targets are too long for a symlink of the backing store.
    @Suite struct SymbolicLinks {
        private static let make = """
            target() { printf "%$1s" | tr ' ' "$2"; }
            mkdir folder; ln -s "$(target 3039 a)" just; ln -s "$(target 3040 b)" long; ln -s "$(target 4095 c)" longest
            """
        private static let look = """
            cd folder 2>/dev/null || true
            for link in moved second; do stat -c '%F %s %h' $link; readlink $link | tr -d '\\n' | cksum; done
            """

        private func targets(of vault: Vault) throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: vault.path + "/lk.targets").count
        }

        @Test func areMovedLinkedAndRemoved() throws {
            let vault = try Vault()
            let mount = try MountedVault(vault)
            let answer = try shell(
                Self.make
                    + "\nln -P longest folder/second; mv longest folder/moved; sync folder; stat -c %s just long\n"
                    + "readlink just long | cksum\n"
                    + "for text in 3039:a 3040:b; do target ${text%:*} ${text#*:}; echo; done | cksum\n"
                    + Self.look, in: mount.path
            ).succeeded().text.split(separator: "\n").map(String.init)
            #expect(Array(answer.prefix(2)) == ["3039", "3040"] && answer[2] == answer[3])
            #expect(answer[4] == "symbolic link 4095 2" && answer[4...5] == answer[6...7])
            #expect(try targets(of: vault) == 2)
            mount.kill()
            mount.detach()
            try withMount(vault) { mount in
                let again = try shell(Self.look, in: mount.path).succeeded().text.split(separator: "\n").map(
                    String.init)
                #expect(again == Array(answer[4...]))
                try shell("rm folder/moved; mv -f just long", in: mount.path).succeeded()
                #expect(try shell("readlink folder/second | tr -d '\\n' | wc -c", in: mount.path).text == "4095\n")
            }
            // The link that was replaced took its target with it.
            #expect(try targets(of: vault) == 1)
            try withMount(vault) { try shell("rm folder/second", in: $0.path).succeeded() }
            // The link has had two names: only a search through all links can tell whether another one uses the target.
            #expect(try targets(of: vault) == 1)
            #expect(try vault.fsck("--repair").repaired == 1)
            #expect(try targets(of: vault) == 0)
            #expect(try vault.fsck().clean)
        }

        /// A copier without support for hard links makes two links of one, with one target.
        @Test func aCopyOfALinkKeepsTheTarget() throws {
            let vault = try Vault()
            try withMount(vault) { try shell(Self.make + "; ln -P longest second", in: $0.path).succeeded() }
            let copy = vault.folder.path("copy")
            try run("rsync", ["-aX", vault.path + "/", copy]).succeeded()
            let other = Vault(copy: copy, of: vault)
            try withMount(other) { try shell("rm longest just", in: $0.path).succeeded() }
            let count = try withMount(other) { try shell("readlink second | tr -d '\\n' | wc -c", in: $0.path).text }
            #expect(count == "4095\n")
            #expect(try other.fsck().clean)
        }

        /// A target that no link names any more is an orphan; a missing target is damage.
        @Test func targetsAreChecked() throws {
            let vault = try Vault()
            try withMount(vault) { try shell(Self.make, in: $0.path).succeeded() }
            let folder = vault.path + "/lk.targets"
            let names = try FileManager.default.contentsOfDirectory(atPath: folder)
            let orphan = folder + "/lk.target." + String(repeating: "A", count: 22)
            try FileManager.default.copyItem(atPath: "\(folder)/\(names[0])", toPath: orphan)
            // The link may be in a folder that cannot be read.
            try FileManager.default.createDirectory(
                atPath: vault.path + "/a friend's", withIntermediateDirectories: false)
            #expect(try vault.fsck("--repair").findings.map(\.kind) == ["foreign"])
            try FileManager.default.removeItem(atPath: vault.path + "/a friend's")
            let found = try vault.fsck().findings
            #expect(found.map(\.kind) == ["sidecar"] && found[0].backingPath.hasPrefix("lk.targets/lk.target.AAAA"))
            #expect(try vault.fsck("--repair").repaired == 1)
            #expect(!FileManager.default.fileExists(atPath: orphan))
            #expect(try targets(of: vault) == 2)

            try FileManager.default.removeItem(atPath: "\(folder)/\(names[0])")
            #expect(try vault.fsck(expecting: 6).findings.map(\.kind) == ["symlink"])
            try withMount(vault) { mount in
                let answer = try shell("readlink long || true; readlink longest || true; ls", in: mount.path)
                #expect(answer.text.split(separator: "\n").count == 5, "\(answer)")
                #expect(mount.messages.contains("the long target of a symbolic link is missing"))
            }
        }
    }
}
