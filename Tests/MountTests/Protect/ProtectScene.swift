import Foundation
import Glibc
import TestSupport

/// A home with a folder of files that is protected and turned back.
final class ProtectScene {
    let scene: NamedScene
    private var errors: StreamFile
    var home: String { scene.home.path }
    /// Where the folder lies: in the home, unless a test says otherwise.
    let place: String
    var folder: String { place + "/Documents" }
    var workspace: String { place + "/.Documents.latchkey" }

    /// - Parameter make: a script that makes the files.
    init(_ make: String, in place: String? = nil) throws {
        scene = try NamedScene()
        errors = try StreamFile()
        self.place = place ?? scene.home.path
        try shell("mkdir Documents; cd Documents; umask 022; \(make)", in: self.place)
    }

    deinit { _ = try? attempt("chattr", ["-f", "-i", folder]) }

    /// All kinds of entries, names and attributes; about 1,200 entries and 12 MB.
    static let everything = """
        mkdir -p a/b/c empty deep/1/2/3; seq 20000 > a/numbers; head -c 3000000 /dev/urandom > a/b/random; : > a/b/empty
        printf x > one; printf 'odd' > $'a/new\\nline'; printf 'odd' > $'a/\\xff\\xfe'; printf 'odd' > 'a/back\\slash'
        ln a/numbers hard1; ln a/numbers a/b/hard2; ln -s a/numbers soft; ln -s /nowhere dangling; ln -s ../.. a/out
        mkfifo fifo; truncate -s 5M sparse; printf data | dd of=sparse bs=1 seek=2000000 conv=notrunc status=none
        setfattr -n user.note -v "$(printf 'y%.0s' {1..300})" one; setfattr -n user.f -v x a; setfacl -m u:1000:rw a/numbers
        setfacl -m d:g:2000:rx a/b/c; chmod 4755 one; chmod 1777 empty
        for n in $(seq 30); do mkdir many$n; for m in $(seq 40); do echo $n $m > many$n/$m; done; done
        head -c 6000000 /dev/urandom > large; find . -exec touch -h -d '2011-11-11 11:11:11.123456789' {} +
        """

    func protect(_ options: String...) throws -> Outcome { try run("protect", options) }
    func unprotect(_ options: String...) throws -> Outcome { try run("unprotect", options) }

    func arguments(_ command: String, _ options: [String]) -> [String] {
        let making = ["--kdf-memory", "19", "--kdf-passes", "2", "--recovery-key-file", scene.home.path("recovery")]
        let isNew = command == "protect" && !options.contains("--undo") && !Disk.exists(workspace + "/record")
        if isNew { unlink(scene.home.path("recovery")) }
        return [command, "--yes", "--passcode-file", scene.passcodeFile] + (isNew ? making : []) + options + [folder]
    }

    /// Starts a command that is to be interrupted.
    func start(_ command: String, _ options: [String] = []) throws -> Child {
        errors = try StreamFile()
        let nothing = try StreamFile()
        return try Child(
            Built.latchkey, arguments(command, options), environment: scene.environment, directory: home,
            input: nothing.descriptor, output: nothing.descriptor, errors: errors.descriptor)
    }

    /// What the last started command has said on standard error.
    var lastErrors: String { String(decoding: errors.contents, as: UTF8.self) }

    /// Runs a command until the first files are moved, and sends it a signal.
    func interrupt(_ command: String, by signal: Int32) throws {
        let child = try start(command)
        let end = ContinuousClock.now + .seconds(60)
        while (try? Disk.read(workspace + "/digests").isEmpty) ?? true {
            guard ContinuousClock.now < end, child.wait(seconds: 0.002) == nil else {
                throw HarnessError("\(command) has not begun, or has ended: \(lastErrors)")
            }
        }
        child.send(signal)
        guard child.wait() == 128 + signal else { throw HarnessError("\(command) was not interrupted: \(lastErrors)") }
    }

    /// Kills a command at a system call of its own that it makes for the so-many-th time, or lets it end.
    func kill(_ command: String, atCall call: String, _ count: Int) throws -> Outcome {
        try attempt(
            "strace",
            ["-qq", "-o", "/dev/null", "-e", "trace=\(call)", "-e", "inject=\(call):signal=KILL:when=\(count)"]
                + [Built.latchkey] + arguments(command, []), environment: scene.environment, directory: home)
    }

    private func run(_ command: String, _ options: [String]) throws -> Outcome {
        try scene.latchkey(arguments(command, options))
    }

    private func unlink(_ path: String) { _ = unsafe Glibc.unlink(path) }

    /// All that a program sees of the folder, in a text.
    func listing(of folder: String? = nil) throws -> String {
        try shell(
            """
            lines() { LC_ALL=C sort -z | sed -z 's/\\n/?/g' | tr '\\0' '\\n'; }
            # Of a folder in a mount, the number of links says nothing.
            find . -type d -printf '%P %y %m %U %G %T@\\0' -o -printf '%P %y %m %U %G %T@ %l %n\\0' | lines
            find . -type f -printf '%P %s\\0' | lines
            find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
            find . -print0 | LC_ALL=C sort -z | xargs -0 getfattr -h -d -e hex \\
                -m '^(user[.][^l]|system|trusted|security)' 2> /dev/null || true
            """, in: folder ?? self.folder
        ).text
    }

    /// The folder holds what it held, and there is neither a vault nor a workspace.
    func isOrdinary() throws -> Bool {
        let names = try FileManager.default.contentsOfDirectory(atPath: place)
        let vaults =
            (try? FileManager.default.contentsOfDirectory(atPath: home + "/.local/share/latchkey/vaults")) ?? []
        let keys = (try? FileManager.default.contentsOfDirectory(atPath: scene.home.path("state/latchkey"))) ?? []
        return !names.contains(".Documents.latchkey") && vaults.isEmpty && !keys.contains { $0.hasSuffix(".key") }
            && mountLines(of: folder).isEmpty
    }
}
