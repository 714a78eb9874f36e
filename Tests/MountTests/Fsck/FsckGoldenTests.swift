import Foundation
import TestSupport
import Testing

extension MountTests {
    /// What `latchkey fsck` prints, compared with Tests/MountTests/Fsck/Golden, so that every change is reviewed.
    ///
    /// To accept a change: UPDATE_FSCK=1 swift test --filter FsckGoldenTests
    @Suite struct FsckGoldenTests {
        private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden")

        /// A file with each kind of damage that a user may meet, and a temporary file.
        private func damaged() throws -> AttackScene {
            let scene = try AttackScene()
            try scene.file("first").edit { $0[512 + 4128 + 100] ^= 1 }
            try scene.file("second").truncate(to: 512 + 2 * 4128)
            try scene.file("single").edit { $0[70] ^= 1 }
            try scene.file("strict").edit { $0[365] ^= 1 }
            try shell("rm '\(scene.backing["other"]!)/lk.dir'").succeeded()
            try Disk.write([], to: scene.vault.path + "/lk.tmp.x")
            try Disk.write([], to: scene.vault.path + "/a friend's")
            return scene
        }

        private func expect(
            _ name: String, _ scene: AttackScene, _ options: String..., unlocked: Bool = true, code: Int32,
            sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            let passcode = unlocked ? ["--passcode-file", scene.vault.passcodeFile] : []
            let outcome = try scene.vault.latchkey(["fsck", scene.vault.path] + options + passcode)
            #expect(outcome.status == code, "\(outcome)", sourceLocation: sourceLocation)
            let text = normalized(outcome.text + outcome.errors, scene)
            let file = Self.folder.appending(path: name)
            if ProcessInfo.processInfo.environment["UPDATE_FSCK"] != nil {
                try Data(text.utf8).write(to: file)
            }
            #expect(try String(contentsOf: file, encoding: .utf8) == text, sourceLocation: sourceLocation)
        }

        /// Replaces random values by their role, and sorts the findings, whose order varies.
        private func normalized(_ text: String, _ scene: AttackScene) -> String {
            var text = text
            for (name, path) in scene.backing.sorted(by: { $0.value.count > $1.value.count }) {
                let relative = String(path.dropFirst(scene.vault.path.count + 1))
                text = text.replacing(relative, with: "<\(name)>")
            }
            text = text.replacing(scene.vault.path, with: "VAULT")
            text = text.replacing(/[0-9a-f]{32}/, with: "ID")
            text = text.replacing(/in [0-9.]+ m?s/, with: "in TIME")
            text = text.replacing(/"seconds":[0-9.e-]+/, with: "\"seconds\":TIME")
            // The files in lost+found, whose names are random.
            text = text.replacing(/[-_A-Za-z0-9]{20,}(\/[-_A-Za-z0-9]{20,})+/, with: "<lost+found>")
            var findings: [String] = []
            var others: [String] = []
            for line in text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
                if line.hasPrefix("  "), !line.hasPrefix("  try"), !line.hasPrefix("    {"), let last = findings.last,
                    others.isEmpty
                {
                    findings[findings.count - 1] = last + "\n" + line
                } else if ["damage: ", "orphan: ", "note: "].contains(where: line.hasPrefix) {
                    findings.append(line)
                } else if line.hasPrefix("    {") {
                    findings.append(line.hasSuffix(",") ? String(line.dropLast()) : line)
                } else {
                    others.append(line)
                }
            }
            return findings.sorted().joined(separator: "\n") + "\n--\n" + others.joined(separator: "\n")
        }

        @Test func whatACheckSays() throws {
            let scene = try damaged()
            try expect("check-structure.txt", scene, unlocked: false, code: 6)
            try expect("check.txt", scene, code: 6)
            try expect("check.json", scene, "--json", code: 6)
            try expect("check-no-contents.txt", scene, "--no-contents", unlocked: false, code: 6)
        }

        @Test func whatARepairSays() throws {
            let scene = try damaged()
            try expect("repair-locked.txt", scene, "--repair", unlocked: false, code: 6)
            try expect("repair.txt", scene, "--repair", code: 6)
            try expect("salvage.txt", scene, "--repair", "--salvage", code: 0)
            try expect("afterwards.txt", scene, code: 0)
        }

        @Test func whatARepairSaysToScripts() throws {
            let scene = try damaged()
            try expect("repair.json", scene, "--json", "--repair", "--salvage", code: 6)
            try expect("repaired.json", scene, "--json", "--repair", "--salvage", code: 0)
        }
    }
}
