import TestSupport
import Testing

extension MountTests {
    /// Another program removes or replaces folders of the vault and their records under a live mount.
    @Suite struct FolderChanges {
        private enum Damage: String, CaseIterable {
            case removed, replacedByAnother, replacedByFile, recordRemoved, recordReplaced, emptied

            func happen(to backing: String, other: String) throws {
                let script =
                    switch self {
                    case .removed: "rm -r \"$1\""
                    case .replacedByAnother: "rm -r \"$1\"; cp -a \"$2\" \"$1\""
                    case .replacedByFile: "rm -r \"$1\"; head -c 5000 /dev/urandom > \"$1\""
                    case .recordRemoved: "rm \"$1/lk.dir\""
                    case .recordReplaced: "rm \"$1/lk.dir\"; cp -a \"$2/lk.dir\" \"$1/lk.dir\""
                    case .emptied: "find \"$1\" -mindepth 1 -delete"
                    }
                try run("sh", ["-euc", script, "sh", backing, other]).succeeded()
            }
        }

        private enum Knowledge: String, CaseIterable { case unknown, known, open }

        private struct Victim {
            let damage: Damage
            let knowledge: Knowledge
            let number: Int
            var name: String { "\(damage)-\(knowledge)" }
            var contents: [UInt8] { [UInt8](seed: number + 50, count: 9000) }
        }

        private static let victims = Damage.allCases.enumerated().flatMap { index, damage in
            Knowledge.allCases.enumerated().map { Victim(damage: damage, knowledge: $1, number: index * 3 + $0) }
        }
        private static let other = [UInt8](seed: 1, count: 9000)
        private static let refusals: Set<String> = ["ESTALE", "ENOENT", "EIO", "ENOTDIR"]

        @Test func foldersAlone() throws {
            let vault = try Vault()
            var backing: [String: String] = [:]
            try withMount(vault) { mount in
                let scene = Scene(mount: mount, probe: try Probe())
                defer { scene.endProbe() }
                for (name, contents) in [("other", Self.other)] + Self.victims.map({ ($0.name, $0.contents) }) {
                    try scene.makeFolder(name)
                    try scene.makeFile(name + "/inner", contents)
                    backing[name] = try mount.backingPath(name)
                }
            }
            try withMount(vault) { mount in
                let scene = Scene(mount: mount, probe: try Probe())
                defer { scene.endProbe() }
                for victim in Self.victims {
                    let inner = scene.path(victim.name) + "/inner"
                    switch victim.knowledge {
                    case .unknown: break
                    case .known: #expect(try scene.probe.size(inner) == 9000)
                    case .open: try scene.probe.open(0, inner, "rw").required()
                    }
                    try victim.damage.happen(to: backing[victim.name]!, other: backing["other"]!)
                    try use(victim, in: scene)
                    #expect(try scene.contents("other/inner") == Self.other, "\(victim.name)")
                    try scene.makeFile("other/fresh", [1])
                    try scene.probe.ask("unlink", scene.path("other/fresh")).required("\(victim.name)")
                }
                try scene.probe.ask("list", mount.path).required("a listing")
            }
            try withMount(vault) { mount in
                let scene = Scene(mount: mount, probe: try Probe())
                defer { scene.endProbe() }
                #expect(try scene.contents("other/inner") == Self.other)
            }
        }

        private func use(_ victim: Victim, in scene: Scene) throws {
            let (probe, path) = (scene.probe, scene.path(victim.name))
            func expect(_ answer: Answer, _ call: String, isContents: Bool = false) throws {
                switch answer {
                case .refused(let errno):
                    #expect(Self.refusals.contains(errno), "\(victim.name): \(call) says \(errno)")
                case .ok:
                    guard isContents else { return }
                    #expect(try answer.bytes() == victim.contents, "\(victim.name): \(call) shows something else")
                }
            }
            if victim.knowledge == .open {
                try expect(probe.pread(0, 0, 9000), "a read", isContents: true)
                try expect(probe.pwrite(0, 4096, Array(victim.contents[4096...])), "a write")
                try expect(probe.ask("fdatasync", "0"), "fdatasync")
                try expect(probe.fsync(0), "fsync")
                _ = try probe.close(0)
            }
            try expect(probe.ask("stat", path), "stat")
            try expect(probe.ask("list", path), "a listing")
            try expect(probe.read(path + "/inner"), "a read", isContents: true)
            try expect(probe.open(0, path + "/made", "rw,creat"), "create")
            _ = try probe.close(0)
            try expect(probe.ask("mkdir", path + "/folder", "0755"), "mkdir")
            try expect(probe.setClass("complete", of: path), "a change of class")
            try expect(probe.ask("chmod", path, "0700"), "chmod")
            try expect(probe.rename(path, path + "-moved"), "rename")
            try expect(probe.rename(path + "-moved", path), "rename back")
        }

        /// The root works on without its record and without the journal's name, until it is mounted again.
        @Test func theRootsOwnFiles() throws {
            let vault = try Vault()
            try withMount(vault) { mount in
                let scene = Scene(mount: mount, probe: try Probe())
                defer { scene.endProbe() }
                try scene.makeFile("before", Self.other)
                try shell("mv lk.dir ../record; rm lk.journal", in: vault.path).succeeded()
                try scene.makeFile("after", Self.other)
                try scene.makeFile("before", Array(Self.other.reversed()))
                #expect(try scene.contents("after") == Self.other)
            }
            #expect(try vault.latchkey(["mount", vault.path, vault.folder.path("mount"), "--foreground"]).status == 6)
            try shell("mv ../record lk.dir", in: vault.path).succeeded()
            try withMount(vault) { mount in
                let scene = Scene(mount: mount, probe: try Probe())
                defer { scene.endProbe() }
                #expect(try scene.contents("before") == Array(Self.other.reversed()))
                #expect(try scene.contents("after") == Self.other)
            }
        }
    }
}
