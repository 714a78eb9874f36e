import Foundation
import Glibc
import TestSupport

/// A home with a configuration, for one user.
final class NamedScene {
    let home: TemporaryFolder
    let passcodeFile: String
    let recoveryKeyFile: String
    let environment: [String: String]

    init() throws {
        home = try TemporaryFolder()
        passcodeFile = try home.write(Vault.passcode, to: "passcode")
        recoveryKeyFile = home.path("recovery-key")
        let (state, runtime) = (
            try home.makeFolder("state", mode: 0o700), try home.makeFolder("runtime", mode: 0o700)
        )
        environment = Environment.plain.merging([
            "HOME": home.path, "XDG_STATE_HOME": state, "XDG_RUNTIME_DIR": runtime,
        ]) { $1 }
    }

    deinit {
        for line in mountLines(of: home.path).reversed() {
            _ = try? latchkey("unmount", "--lazy", mountPoint(line))
        }
        // Bare mount points of root are immutable.
        _ = try? attempt("find", [home.path, "-xdev", "-type", "d", "-exec", "chattr", "-f", "-i", "{}", ";"])
    }

    var configuration: String { home.path(".config/latchkey/config.toml") }

    /// Replaces the configuration.
    func configure(_ text: String) throws {
        try FileManager.default.createDirectory(
            atPath: home.path(".config/latchkey"), withIntermediateDirectories: true)
        try Disk.write(Array(text.utf8), to: configuration)
    }

    /// Makes a vault of the name `name`, with its table.
    @discardableResult func makeVault(_ name: String, _ options: String...) throws -> Outcome {
        unlink(recoveryKeyFile)
        return try latchkey(
            ["init", "--name", name, "--kdf-memory", "19", "--kdf-passes", "2", "--passcode-file", passcodeFile]
                + ["--recovery-key-file", recoveryKeyFile] + options
        ).succeeded()
    }

    private func unlink(_ path: String) { _ = unsafe Glibc.unlink(path) }

    func latchkey(_ arguments: [String], input: String = "", in folder: String? = nil) throws -> Outcome {
        try attempt(
            Built.latchkey, arguments, input: Array(input.utf8), environment: environment,
            directory: folder ?? home.path)
    }

    @discardableResult func latchkey(_ arguments: String..., in folder: String? = nil) throws -> Outcome {
        try latchkey(arguments, in: folder)
    }

    /// Closes or unmounts a vault. Another program may look into the mount for a moment, which makes it busy.
    func end(_ command: String, _ vault: String, in folder: String? = nil) throws {
        let end = ContinuousClock.now + .seconds(5)
        var outcome = try latchkey(command, vault, in: folder)
        while outcome.errors.contains("is in use"), ContinuousClock.now < end {
            usleep(10_000)
            outcome = try latchkey(command, vault, in: folder)
        }
        try outcome.succeeded()
    }

    /// What `latchkey list --json` says of one vault.
    func listed(_ name: String) throws -> [String: String] {
        let outcome = try latchkey("list", "--json").succeeded()
        let all = try JSONSerialization.jsonObject(with: Data(outcome.output)) as? [[String: Any]] ?? []
        guard let vault = all.first(where: { $0["name"] as? String == name }) else { return [:] }
        return vault.compactMapValues { $0 as? String }
    }

    func state(_ name: String) throws -> String? { try listed(name)["state"] }

    /// The permissions of a file, and whether it is immutable.
    func mode(_ path: String) -> mode_t? {
        var status = stat()
        return unsafe lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
    }
}

/// A script of an ordinary user, in a mount namespace of its own.
enum OrdinaryUserScript {
    /// Nil if it can run; else why not.
    static let missing: String? = {
        if geteuid() != 0 { return nil }
        for program in ["unshare", "setpriv", "fusermount3", "mknod"] {
            if (try? TestSupport.run("sh", ["-c", "command -v \(program)"])) == nil {
                return "\(program) is not installed"
            }
        }
        return nil
    }()

    /// Runs the script in a new home with a passcode file, and throws if it fails. `refused` runs a command that must
    /// fail.
    ///
    /// - Parameter user: one that no other program on the machine has.
    static func run(_ script: String, user: uid_t) throws {
        let home = try TemporaryFolder()
        let environment = Environment.plain.merging([
            "LATCHKEY": Built.latchkey, "HOME": home.path, "XDG_STATE_HOME": home.path("state"),
            "XDG_RUNTIME_DIR": home.path("runtime"),
        ]) { $1 }
        let whole = """
            latchkey() { "$LATCHKEY" "$@"; }
            refused() { if "$@" > output 2> errors; then echo "not refused: $*" >&2; exit 1; fi; }
            end() {
                for point in $(grep " $HOME/" /proc/self/mounts | cut -d " " -f 2); do
                    fusermount3 -u -z "$point"
                done
            }
            trap end EXIT
            mkdir -m 700 state runtime; printf '%s' '\(Vault.passcode)' > passcode
            make() { latchkey init --kdf-memory 19 --kdf-passes 2 --passcode-file passcode \\
                --recovery-key-file "recovery-$RANDOM" "$@" > /dev/null; }
            \(script)
            """
        guard geteuid() == 0 else {
            try shell("set -x\n" + whole, in: home.path, environment: environment)
            return
        }
        unsafe chown(home.path, user, user)
        let device = home.path("fuse")
        try TestSupport.run(
            "unshare",
            [
                "-m", "--propagation", "private", "sh", "-euc",
                """
                mknod -m 0666 '\(device)' c 10 229; mount --bind '\(device)' /dev/fuse
                # fusermount3 wants the user to have a name.
                { cat /etc/passwd; echo 'someone:x:\(user):\(user):::'; } > passwd; mount --bind passwd /etc/passwd
                exec setpriv --reuid \(user) --regid \(user) --clear-groups bash -euxc "$1"
                """, "sh", whole,
            ], environment: environment, directory: home.path)
    }
}
