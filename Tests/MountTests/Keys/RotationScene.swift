import Foundation
import Glibc
import TestSupport

/// A vault with many files of all classes, whose keys are rotated.
struct RotationScene {
    let vault: Vault
    let recoveryKey: String
    private let hasPasscode: Bool
    /// The keybag with the old keys.
    let oldKeybag: [UInt8]

    /// What `latchkey status --json` says of it.
    struct Progress: Decodable {
        var phase: String
        var files: Int
        var renewed: Int
        var failed: Int
        var failure: String?
    }

    /// - Parameter count: of files in each class.
    init(_ count: Int, hasPasscode: Bool = true, in folder: TemporaryFolder? = nil) throws {
        vault = try Vault(in: folder, hasPasscode: hasPasscode)
        recoveryKey = vault.folder.path("new-recovery-key")
        self.hasPasscode = hasPasscode
        oldKeybag = try Disk.read(vault.keybag)
        try withMount(vault, unlocked: hasPasscode) { mount in
            for each in ProtectionClass.allCases {
                let folder = mount.file(each.letter)
                try run("mkdir", [folder]).succeeded()
                try run("setfattr", ["-n", "user.latchkey.class", "-v", each.rawValue, folder]).succeeded()
                try Self.python(Self.fill, [folder, "\(count)"])
            }
        }
    }

    private static let fill = """
        import os, sys
        top, count = sys.argv[1], int(sys.argv[2])
        def make(name, mode=0o644):
            path = os.path.join(top, name)
            with open(path, "w") as file: file.write(name * (1 + len(name) % 7) * (900 if name.endswith("77") else 1))
            os.chmod(path, mode)
            return path
        for number in range(count):
            if number % 40 == 0: os.mkdir(os.path.join(top, "d%d" % (number // 40)))
            make("d%d/f%d" % (number // 40, number), 0o400 if number % 5 == 0 else 0o644)
        os.link(make("several"), os.path.join(top, "d0/links"))
        make("l" * 200)
        deep = "deep"
        os.mkdir(os.path.join(top, deep))
        for level in range(100):
            deep += "/%d" % level
            os.mkdir(os.path.join(top, deep))
            make(deep + "/f")
        """

    /// Reads all files of a folder, each of which repeats its own name; prints a line for each that does not.
    private static let verify = """
        import os, sys
        top, seen = sys.argv[1], 0
        for folder, _, names in os.walk(top):
            for name in names:
                path = os.path.join(folder, name)
                own = os.path.relpath(path, top)
                if own == "d0/links": own = "several"
                if own.startswith("moving"): continue
                wanted = own * (1 + len(own) % 7) * (900 if own.endswith("77") else 1)
                try:
                    with open(path) as file:
                        if file.read() != wanted: print("other contents:", path)
                except OSError as error: print(error)
                seen += 1
        print(seen)
        """

    @discardableResult static func python(_ script: String, _ arguments: [String], within seconds: Double = 120) throws
        -> String
    {
        try run("python3", ["-c", script] + arguments, within: seconds).succeeded().text
    }

    /// What is wrong with the files; empty if all are as they were made.
    func wrong(_ mount: MountedVault, count: Int) throws -> String {
        var text = ""
        for each in ProtectionClass.allCases {
            let found = try Self.python(Self.verify, [mount.file(each.letter)])
            if found != "\(count + 103)\n" { text += "class \(each): \(found)" }
        }
        return text
    }

    /// Modes, sizes and times of everything in the mount except its root, in which the keybag is replaced.
    func metadata(_ mount: MountedVault) throws -> [Substring] {
        try shell("find . -mindepth 1 -printf '%P %M %n %s %T@ %C@ %A@\\n' | sort", in: mount.path).text.split(
            separator: "\n")
    }

    func rotate(
        _ mount: MountedVault, _ options: [String] = ["--wait"], passcode: String? = nil, within seconds: Double = 120
    ) throws -> Outcome {
        try mount.latchkey(
            ["rotate", "--passcode-file", passcode ?? vault.passcodeFile, "--recovery-key-file", recoveryKey] + options
                + [mount.path], within: seconds)
    }

    func progress(_ mount: MountedVault) throws -> Progress? {
        struct Status: Decodable { var rotation: Progress? }
        let text = try mount.latchkey("status", mount.path, "--json").succeeded().output
        return try JSONDecoder().decode(Status.self, from: Data(text)).rotation
    }

    /// Returns when this many files have new keys, or no file is left to do.
    func waitUntilRenewed(_ count: Int, _ mount: MountedVault) throws {
        let end = ContinuousClock.now + .seconds(60)
        while let progress = try progress(mount), progress.renewed < count {
            guard ContinuousClock.now < end else { throw HarnessError("still \(progress)") }
        }
    }

    /// Completes a rotation that was interrupted.
    func finish(_ mount: MountedVault) throws {
        guard try progress(mount) != nil else { return }
        try mount.latchkey("rotate", "--wait", mount.path, within: 120).succeeded()
        if let progress = try progress(mount) { throw HarnessError("still \(progress)") }
    }

    /// Files that the old keybag opens in a copy of the present vault, with the old device key and passcode.
    func openedByOldKeys() throws -> [String] {
        let copy = Vault(copy: vault.folder.path("copy"), of: vault)
        try run("rm", ["-rf", copy.path]).succeeded()
        try run("cp", ["-a", vault.path, copy.path]).succeeded()
        try Data(oldKeybag).write(to: URL(fileURLWithPath: copy.keybag))
        // A machine that has not seen the newer keybag.
        let seen = try vault.deviceKeyFile() + ".seen"
        let remembered = try Disk.read(seen)
        try FileManager.default.removeItem(atPath: seen)
        defer { try? Disk.write(remembered, to: seen) }
        let text = try withMount(copy, unlocked: hasPasscode) { mount in
            try Self.python(
                """
                import os, sys
                for folder, _, names in os.walk(sys.argv[1]):
                    for name in names:
                        path = os.path.join(folder, name)
                        try:
                            with open(path, "rb") as file: file.read()
                            print(os.path.relpath(path, sys.argv[1]))
                        except OSError as error:
                            if error.errno != 5: print(path, error)
                """, [mount.path])
        }
        try run("rm", ["-rf", copy.path]).succeeded()
        return text.split(separator: "\n").map(String.init)
    }

    /// What the independent reader finds with another keybag in the vault.
    func read(keybag: [UInt8]? = nil) throws -> Outcome {
        let whole = try Disk.read(vault.keybag)
        defer { try? Data(whole).write(to: URL(fileURLWithPath: vault.keybag)) }
        if let keybag { try Data(keybag).write(to: URL(fileURLWithPath: vault.keybag)) }
        return try attempt(
            "python3",
            [
                Built.project + "/tools/read-vault.py", "--device-key", try vault.deviceKeyFile(), "--passcode-file",
                vault.passcodeFile, vault.path, "verify",
            ], within: 120)
    }
}
