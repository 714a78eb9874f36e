import Foundation
import TestSupport
import Testing

extension MountTests {
    /// Old versions that are put back while the vault is not mounted: each kind, after few and many changes.
    @Suite struct OlderVersions {
        /// With LATCHKEY_TAMPER, after a thousand changes, too.
        private static let changes =
            ProcessInfo.processInfo.environment["LATCHKEY_TAMPER"] == nil ? [3] : [1, 10, 1000]

        /// What an attacker puts back.
        enum Kind: String, CaseIterable, CustomTestStringConvertible {
            case file, header, `class`, removedFile, movedFile, replacedFile, everything, journal
            case folderRecord, movedFolder, linkTarget, attribute, removedAttribute
            case block, truncatedBlock

            var testDescription: String { rawValue }
            var verdict: String {
                switch self {
                case .removedFile, .movedFile, .replacedFile, .movedFolder, .linkTarget, .attribute, .removedAttribute:
                    "back"
                default: "older"
                }
            }
            /// What is put back.
            var name: String {
                switch self {
                case .folderRecord, .movedFolder: "folder"
                case .linkTarget: "link"
                case .attribute, .removedAttribute, .block: "blocks"
                case .truncatedBlock: "rewritten"
                default: "file"
                }
            }
            /// Read and changed, for a shell.
            var use: (read: String, write: String?) {
                switch self {
                case .folderRecord, .movedFolder: ("ls folder", "touch folder/new")
                case .linkTarget: ("readlink -v link", nil)
                case .attribute, .removedAttribute: ("getfattr -n user.note blocks", nil)
                case .block, .truncatedBlock:
                    ("cat \(name)", "printf x | dd of=\(name) bs=1 seek=2 conv=notrunc status=none")
                default: ("cat file", "echo x >> file")
                }
            }
        }

        @Test(arguments: Kind.allCases, changes) func areNoticed(kind: Kind, changes: Int) throws {
            let scene = try FreshnessScene()
            try scene.change(1)
            let before = try scene.copy()
            for number in 2..<2 + changes { try scene.change(number, keepingMount: number % 100 != 0) }
            try scene.endChanges()
            if kind == .journal { try scene.crash() }
            try scene.putBack(kind, from: before)
            try withMount(scene.vault, options: ["--freshness", "warn"]) { mount in
                let status = try scene.look(at: mount)
                switch kind {
                case .journal: #expect(status.hasLostJournal && status.older == 0)
                case .everything:
                    #expect(status.moment != nil && status.older > 0)
                    #expect(mount.messages.contains("looks as it did in the past"))
                default:
                    #expect(status.older == 1 && status.moment == nil, "\(status)")
                    let older = try #require(try mount.explain(kind.name)["older"] as? [String: Any])
                    #expect(older["verdict"] as? String == kind.verdict)
                    let path = mount.file(kind.name)
                    let text = try mount.latchkey("explain", path).succeeded().text
                    #expect(text.contains("try: latchkey accept \(path)"), "\(text)")
                    let name = kind.name
                    #expect(mount.logs("path: /\(name)") || mount.logs("path=/\(name)"), "\(mount.messages)")
                }
            }
            guard kind != .journal else { return }
            try withMount(scene.vault, options: ["--freshness", "strict"]) { mount in
                let read = try attemptShell(kind.use.read, in: mount.path)
                #expect(read.status != 0 && read.errors.contains("Input/output error"), "\(read)")
                if let write = kind.use.write {
                    let written = try attemptShell(write, in: mount.path)
                    #expect(written.status != 0)
                }
                let text = try mount.latchkey("explain", mount.file(kind.name)).succeeded().text
                if kind.name == "file" { #expect(text.contains("refused until it is accepted"), "\(text)") }
                // The daemon tells of it up to half a second later.
                #expect(mount.logs("/\(kind.name)"))
                let status = try mount.latchkey("status", mount.path).succeeded().text
                #expect(status.contains("and refused") && status.contains("  /\(kind.name)"), "\(status)")
                try mount.latchkey("accept", mount.file(kind.name)).succeeded()
                try shell("\(kind.use.read); \(kind.use.write ?? "true")", in: mount.path)
            }
            try withMount(scene.vault, options: ["--freshness", "strict"]) { mount in
                try shell(kind.use.read, in: mount.path)
            }
        }

        /// The change of a file that is older is newer than all that was seen: no later mount tells of it again.
        @Test func aChangeEndsIt() throws {
            let (scene, before) = try FreshnessScene.changedTwice()
            try scene.putBack(.file, from: before)
            try withMount(scene.vault) { mount in
                #expect(try scene.look(at: mount).older == 1)
                try shell("echo more >> file", in: mount.path)
            }
            try withMount(scene.vault) { mount in try scene.expectNothingOlder(in: mount) }
        }

        @Test func oneAnswerForAWholeVault() throws {
            let (scene, before) = try FreshnessScene.changedTwice()
            for way in ["--restored", "accept --all"] {
                try scene.putBack(.everything, from: before)
                try withMount(scene.vault, options: way == "--restored" ? ["--restored"] : []) { mount in
                    if way != "--restored" {
                        #expect(try scene.look(at: mount).moment != nil)
                        let text = try mount.latchkey("status", mount.path).succeeded().text
                        #expect(text.contains("latchkey accept --all \(mount.path)"), "\(text)")
                        try mount.latchkey("accept", "--all", mount.path).succeeded()
                    }
                    let status = try scene.look(at: mount)
                    #expect(status.older == 0 && status.moment == nil)
                    try shell("echo later > file", in: mount.path)
                }
                try withMount(scene.vault) { mount in try scene.expectNothingOlder(in: mount) }
            }
        }

        /// Folders that are open, and were refused, can be used after one answer for all.
        @Test func oneAnswerOpensFolders() throws {
            let scene = try FreshnessScene()
            let before = try scene.copy()
            try withMount(scene.vault) { mount in
                for name in ["", "folder"] { try mount.latchkey("class", "set", "A", mount.file(name)).succeeded() }
            }
            try scene.putBack(.everything, from: before)
            try withMount(scene.vault, options: ["--freshness", "strict"]) { mount in
                for act in ["ls", "ls folder", "touch new", "touch folder/new"] {
                    let outcome = try attemptShell(act, in: mount.path)
                    #expect(outcome.status != 0, "\(act)")
                }
                let text = try mount.latchkey("status", mount.path).succeeded().text
                #expect(!text.contains("1970"), "\(text)")
                try mount.latchkey("accept", "--all", mount.path).succeeded()
                try shell("ls; ls folder; touch new folder/new", in: mount.path)
            }
        }

        /// `fsck --freshness` finds what is older, and what is missing; by itself it is no damage.
        @Test func fsckCompares() throws {
            let scene = try FreshnessScene()
            try scene.change(1)
            let before = try scene.copy()
            func check() throws -> [[String: Any]] {
                let outcome = try scene.vault.latchkey([
                    "fsck", "--freshness", "--json", "--passcode-file", scene.vault.passcodeFile, scene.vault.path,
                ]).succeeded()
                let report = try JSONSerialization.jsonObject(with: Data(outcome.output)) as? [String: Any]
                return try #require(report?["findings"] as? [[String: Any]])
            }
            #expect(try check().isEmpty)
            try scene.change(2)
            try scene.endChanges()
            let other = try withMount(scene.vault) { mount in try mount.backingPath("folder/other") }
            try scene.putBack(.file, from: before)
            let found = try check()
            #expect(
                found.count == 1 && found[0]["kind"] as? String == "older" && found[0]["path"] as? String == "/file")
            try scene.putBack(.block, from: before)
            let block = try check()
            #expect(block.count == 2 && block.contains { $0["path"] as? String == "/blocks" }, "\(block)")
            try withMount(scene.vault) { mount in try mount.latchkey("accept", mount.file("blocks")).succeeded() }
            try FileManager.default.removeItem(atPath: other)
            let missing = try check()
            #expect(missing.count == 2 && missing.contains { $0["kind"] as? String == "missing" }, "\(missing)")
            try scene.vault.latchkey(["fsck", scene.vault.path]).succeeded()
        }

        /// What is wrong with the memory costs the memory alone.
        @Test(arguments: ["lost", "garbage", "cut", "a folder", "a full disk"]) func aLostMemory(how: String) throws {
            let scene = try FreshnessScene()
            try scene.change(1)
            try scene.endChanges()
            let marks = try scene.vault.deviceKeyFile() + ".marks"
            #expect(Disk.exists(marks))
            let before = try scene.copy()
            try scene.change(2)
            try scene.endChanges()
            try scene.putBack(.file, from: before)
            switch how {
            case "lost", "a folder": try FileManager.default.removeItem(atPath: marks)
            case "garbage": try Disk.write([UInt8](repeating: 7, count: 1000), to: marks)
            default: try Disk.edit(marks) { $0.removeLast($0.count - 70) }
            }
            if how == "a folder" {
                try FileManager.default.createDirectory(atPath: marks, withIntermediateDirectories: false)
            }
            try withMount(scene.vault) { mount in
                let text = try shell("cat file; echo 3 > file", in: mount.path).text
                #expect(text == "1\n")
                if how == "a folder" { #expect(mount.messages.contains("cannot remember which versions")) }
            }
            if how == "a folder" {
                let refused = try scene.vault.latchkey([
                    "mount", "--freshness", "strict", "--unlock", "--passcode-file", scene.vault.passcodeFile,
                    scene.vault.path, try scene.vault.folder.makeFolder("other"),
                ])
                #expect(refused.status != 0, "\(refused)")
                try FileManager.default.removeItem(atPath: marks)
            }
            try withMount(scene.vault) { mount in try scene.expectNothingOlder(in: mount) }
        }

        @Test(arguments: [false, true]) func theMemoryIsErasedWithTheVault(isMounted: Bool) throws {
            let (scene, _) = try FreshnessScene.changedTwice()
            let marks = try scene.vault.deviceKeyFile() + ".marks"
            #expect(Disk.exists(marks))
            let mount = isMounted ? try MountedVault(scene.vault) : nil
            if let mount { try shell("echo 3 > file", in: mount.path) }
            try scene.vault.latchkey(["erase", "--yes", scene.vault.path]).succeeded()
            mount?.expectEnded(status: nil)
            #expect(!Disk.exists(marks))
        }

        /// What is told once in a session, `monitor` writes, too.
        @Test func monitorTells() throws {
            let (scene, before) = try FreshnessScene.changedTwice()
            try scene.putBack(.file, from: before)
            try withMount(scene.vault) { mount in
                let (input, output) = (try StreamFile(), try StreamFile())
                let monitor = try Child(
                    Built.latchkey, ["monitor", mount.path], environment: scene.vault.environment,
                    input: input.descriptor, output: output.descriptor, errors: output.descriptor)
                defer { monitor.send(SIGKILL) }
                _ = try scene.look(at: mount)
                let end = ContinuousClock.now + .seconds(10)
                while !String(decoding: output.contents, as: UTF8.self).contains("did-find-older, 1 file") {
                    try #require(ContinuousClock.now < end, "\(String(decoding: output.contents, as: UTF8.self))")
                    usleep(20_000)
                }
            }
        }
    }
}

/// A vault with a file that changes, and with something of each kind.
final class FreshnessScene {
    let vault: Vault
    private var mount: MountedVault?
    private var copies = 0

    struct Found: Decodable {
        var older: Int
        var moment: Double?
        var hasLostJournal: Bool
    }

    init() throws {
        vault = try Vault()
        try withMount(vault) { mount in
            try shell(
                """
                echo 0 > file; mkdir folder; echo 0 > folder/other; ln -s a link; head -c 9000 /dev/zero > blocks
                setfattr -n user.note -v 0 blocks
                """, in: mount.path
            )
        }
    }

    /// One that was changed twice, and a copy from between.
    static func changedTwice() throws -> (FreshnessScene, before: String) {
        let scene = try FreshnessScene()
        try scene.change(1)
        let before = try scene.copy()
        try scene.change(2)
        try scene.endChanges()
        return (scene, before)
    }

    /// Changes everything once.
    func change(_ number: Int, keepingMount: Bool = true) throws {
        let mount = try self.mount ?? MountedVault(vault)
        self.mount = mount
        try shell(
            """
            echo \(number) > file; ln -sfn target-\(number) link; setfattr -n user.note -v \(number) blocks
            printf %09d \(number) | dd of=blocks bs=9 seek=2 conv=notrunc status=none
            printf %05000d \(number) > rewritten
            """, in: mount.path
        )
        if number == 2 { try mount.latchkey("class", "set", "A", mount.file("folder")).succeeded() }
        if !keepingMount { try endChanges() }
    }

    func endChanges() throws {
        try mount?.unmount()
        mount = nil
    }

    /// The daemon is killed after it has synced something to the journal, and has written down what it has seen.
    func crash() throws {
        let mount = try MountedVault(vault)
        try mount.writeDownWhatWasSeen()
        try shell("echo synced > late; sync late", in: mount.path)
        mount.kill()
        mount.detach()
    }

    func copy() throws -> String {
        try endChanges()
        copies += 1
        let copy = vault.folder.path("copy-\(copies)")
        try shell("cp -a '\(vault.path)' '\(copy)'", in: vault.folder.path)
        // In what is compared, times have whole seconds.
        usleep(1_100_000)
        return copy
    }

    func putBack(_ kind: MountTests.OlderVersions.Kind, from copy: String) throws {
        func backing(_ name: String) throws -> String {
            try withMount(vault) { mount in
                String(try mount.backingPath(name).dropFirst(vault.path.count + 1))
            }
        }
        func put(_ name: String) throws {
            try shell("rm -rf '\(vault.path)/\(name)'; cp -a '\(copy)/\(name)' '\(vault.path)/\(name)'", in: copy)
        }
        switch kind {
        case .file: try put(try backing("file"))
        case .header, .class:
            let name = try backing("file")
            if kind == .class {
                try withMount(vault) { mount in
                    try mount.latchkey("class", "set", "A", mount.file("file")).succeeded()
                }
            }
            try shell("dd if='\(copy)/\(name)' of='\(vault.path)/\(name)' bs=512 count=1 conv=notrunc", in: copy)
        case .removedFile, .movedFile, .replacedFile:
            let name = try backing("file")
            try withMount(vault) { mount in
                let act =
                    switch kind {
                    case .removedFile: "rm file"
                    case .movedFile: "mv file elsewhere"
                    default: "echo new > new; mv new file"
                    }
                try shell(act, in: mount.path)
            }
            try put(name)
        case .everything: try shell("rm -rf '\(vault.path)'; cp -a '\(copy)' '\(vault.path)'", in: copy)
        case .journal: try put("lk.journal")
        case .block, .truncatedBlock:
            let name = try backing(kind.name)
            try shell(
                "dd if='\(copy)/\(name)' of='\(vault.path)/\(name)' bs=1 skip=512 seek=512 count=4128 conv=notrunc status=none",
                in: copy
            )
        case .attribute:
            let name = try backing("blocks")
            let script = """
                import os, sys
                for name in os.listxattr(sys.argv[1]):
                    if name != "user.lk":
                        os.setxattr(sys.argv[2], name, os.getxattr(sys.argv[1], name))
                """
            try TestSupport.run("python3", ["-c", script, "\(copy)/\(name)", "\(vault.path)/\(name)"])
        case .removedAttribute:
            try withMount(vault) { mount in try shell("setfattr -x user.note blocks", in: mount.path) }
            return try putBack(.attribute, from: copy)
        case .movedFolder:
            let name = try backing("folder")
            try withMount(vault) { mount in try shell("mv folder other", in: mount.path) }
            try put(name)
        case .linkTarget: try put(try backing("link"))
        case .folderRecord: try put(try backing("folder") + "/lk.dir")
        }
    }

    func expectNothingOlder(in mount: MountedVault, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let found = try look(at: mount)
        #expect(found.older == 0 && found.moment == nil && !found.hasLostJournal, sourceLocation: sourceLocation)
    }

    /// Looks at all files as a program does; returns what the mount has found by then.
    func look(at mount: MountedVault) throws -> Found {
        struct Status: Decodable { var freshness: Found }
        let everything = "find . -type f -exec cat {} +; find . -type l -exec readlink {} +; getfattr -hRd -m - ."
        _ = try attemptShell("{ \(everything); } > /dev/null", in: mount.path)
        let outcome = try mount.latchkey("status", "--json", mount.path).succeeded()
        return try JSONDecoder().decode(Status.self, from: Data(outcome.output)).freshness
    }
}

extension MountedVault {
    /// Has the daemon flush the whole store, by a checkpoint of many files, and returns when it has written down what
    /// it has seen.
    func writeDownWhatWasSeen() throws {
        let marks = try vault.deviceKeyFile() + ".marks"
        let before = try Disk.read(marks)
        try shell("mkdir -p many; for i in $(seq 80); do echo > many/$i; done", in: path)
        let end = ContinuousClock.now + .seconds(40)
        while try Disk.read(marks) == before {
            guard ContinuousClock.now < end else { throw HarnessError("nothing was written down") }
            usleep(50_000)
        }
    }

    /// Whether the log has a text by now, or a second later.
    func logs(_ text: String) -> Bool {
        let end = ContinuousClock.now + .seconds(3)
        while !messages.contains(text) {
            guard ContinuousClock.now < end else { return false }
            usleep(10_000)
        }
        return true
    }
}
