import Foundation
import Tampering
import TestSupport
import Testing

extension MountTests {
    /// The table of attacks again, through the program, its mount and its log: a new daemon for each kind.
    @Suite struct TamperedMounts {
        @Test func `every kind of attack, on every class, through a mount`() throws {
            let scene = try TamperScene()
            let vault = try Vault(at: scene.folder.path, passcode: TamperScene.passcode)
            for attack in Attack.all {
                guard let combination = try attack.combined(on: scene, of: extent) else { continue }
                let classes = Set(combination.paths.compactMap(\.first)).intersection("ABCD")
                #expect(classes.count == 4, "\(attack.name): only on \(classes)")
                try scene.folder.hold(combination.image, afresh: true)
                try withMount(vault, options: ["--device-key", scene.keyPath]) { mount in
                    let probe = try Probe()
                    defer {
                        probe.process.send(9)
                        probe.process.wait()
                    }
                    try judge(combination, attack, of: scene, through: MountReader(mount: mount, probe: probe))
                }
            }
        }

        /// How many attempts of each kind are chosen; tools/tamper tries more than a run of all tests.
        private var extent: Int { ProcessInfo.processInfo.environment["LATCHKEY_TAMPER"] == "all" ? 300 : 40 }

        private func judge(
            _ combination: Combination, _ attack: Attack, of scene: TamperScene, through reader: MountReader
        ) throws {
            var refused: [String] = []
            for path in combination.paths.sorted() {
                let seen = try reader.see(path)
                if Comparison(seen, written: scene.written[path]!).isRefused { refused.append(path) }
                let outcome = Tally.Outcome(
                    seen: [path: seen], expected: { scene.knowledge.expected($0, in: combination.image) },
                    written: { scene.written[$0]! }, documented: attack.documented)
                if case .violation(let text) = outcome { Issue.record("\(attack.name): \(text)") }
            }
            for path in refused where !reader.mount.logsRefusal(of: scene.others(of: path)) {
                Issue.record("\(attack.name): no line of the log names /\(path) and a reason")
            }
        }

        /// While it is mounted and open: the daemon has header and key in memory, and the page cache is bypassed.
        @Test func `blocks and headers changed under an open file`() throws {
            let scene = try TamperScene()
            try scene.folder.hold(scene.current, afresh: true)
            try withMount(
                try Vault(at: scene.folder.path, passcode: TamperScene.passcode),
                options: ["--device-key", scene.keyPath]
            ) { mount in
                let probe = try Probe()
                defer {
                    probe.process.send(9)
                    probe.process.wait()
                }
                for letter in ["A", "B", "C", "D"] {
                    let path = "\(letter)/12288"
                    let stored = BackingFile(scene.folder.path + "/" + scene.knowledge.backing[path]!)
                    try probe.open(0, mount.file(path), "r,direct").required()
                    let whole = try probe.pread(0, 4096, 4096)
                    #expect(whole.succeeded)
                    try stored.edit { $0[512 + 4128 + 1000] ^= 1 }
                    #expect(try probe.pread(0, 4096, 4096) == .refused("EIO"), "/\(path)")
                    #expect(mount.logsRefusal(of: [path]), "/\(path)")
                    #expect(try probe.pread(0, 0, 4096).succeeded, "/\(path), another block")
                    try stored.edit { bytes in
                        bytes[512 + 4128 + 1000] ^= 1
                        bytes[72] ^= 1
                    }
                    #expect(try probe.pread(0, 4096, 4096) == whole, "/\(path), under the header that was read")
                    try probe.close(0).required()
                    try mount.untilNothingIsOpen()
                    #expect(try probe.open(0, mount.file(path)) == .refused("EIO"), "/\(path), opened anew")
                    try stored.edit { $0[72] ^= 1 }
                }
            }
        }

        /// If the root's record, the journal or the keybag was changed, the mount fails and shows no entry.
        @Test(arguments: ["lk.dir", "lk.journal", "lk.keybag"])
        func `a vault whose own files were changed is not mounted`(_ name: String) throws {
            let scene = try TamperScene()
            let vault = try Vault(at: scene.folder.path, passcode: TamperScene.passcode)
            var image = scene.current
            switch name {
            case "lk.dir": image.replace(name, by: .link(image.target(name).reversed()))
            default: image.edit(name) { $0[100] ^= 1 }
            }
            for node in [image[name]!, .file([]), .folder(), .fifo, .link(Array("/etc/passwd".utf8))] {
                image.replace(name, by: node)
                try scene.folder.hold(image, afresh: true)
                let point = vault.folder.path("point")
                try? FileManager.default.createDirectory(atPath: point, withIntermediateDirectories: false)
                let outcome = try vault.latchkey(
                    ["mount", vault.path, point, "--device-key", scene.keyPath], within: 20)
                #expect(outcome.status == 6, "\(name), \(node): \(outcome)")
                #expect(!outcome.errors.isEmpty)
                #expect(mountLines(of: point).isEmpty)
            }
        }
    }
}

extension TamperScene {
    /// A path, and the other paths that the log may name instead: other names of the file, a refused folder above it.
    fileprivate func others(of path: String) -> [String] {
        let number = current.names[knowledge.backing[path]!]
        var names = knowledge.paths.filter { current.names[knowledge.backing[$0]!] == number && number != nil } + [path]
        var rest = path[...]
        while let slash = rest.lastIndex(of: "/") {
            rest = rest[..<slash]
            names.append(String(rest))
        }
        return names
    }
}

extension MountedVault {
    /// Whether the log says that one of these was refused, and why; the daemon writes it from a thread of its own.
    fileprivate func logsRefusal(of paths: [String]) -> Bool {
        let end = ContinuousClock.now + .seconds(3)
        while true {
            let lines = messages.split(separator: "\n")
            let isThere = paths.contains { path in
                lines.contains { line in
                    guard let range = line.range(of: " refused path=/\(path) reason=") else { return false }
                    return range.upperBound < line.endIndex
                }
            }
            if isThere { return true }
            guard ContinuousClock.now < end else { return false }
            usleep(5_000)
        }
    }
}
