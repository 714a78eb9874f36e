import Format
import Foundation
import Glibc
import TestSupport
import Testing

/// A mount of a vault, by a daemon that is a child of the test.
final class MountedVault {
    let vault: Vault
    let path: String
    let daemon: Child
    private let log: StreamFile
    private var hasEnded = false

    /// Returns when the mount answers. With a passcode it is unlocked at once.
    ///
    /// - Parameters:
    ///   - descriptorLimit: RLIMIT_NOFILE of the daemon; without it, the limit of this process.
    ///   - program: a program that executes the daemon in its own process, with other rights or limits.
    init(
        _ vault: Vault, unlocked: Bool = true, grace: Int? = 1, options: [String] = [], descriptorLimit: Int? = nil,
        through program: [String] = [], at name: String = "mount"
    ) throws {
        self.vault = vault
        path = vault.folder.path(name)
        unsafe mkdir(path, 0o755)
        let input = try StreamFile()
        log = try StreamFile()
        let limiting = descriptorLimit.map { ["/bin/sh", "-c", "ulimit -n $0 && exec \"$@\"", "\($0)"] } ?? []
        let words =
            limiting + program
            + [Built.latchkey, "mount", vault.path, path, "--foreground"] + (grace.map { ["--grace", "\($0)"] } ?? [])
            + (unlocked ? ["--unlock", "--passcode-file", vault.passcodeFile] : []) + Self.transport + options
        daemon = try Child(
            words[0], Array(words.dropFirst()),
            environment: vault.environment, input: input.descriptor, output: log.descriptor, errors: log.descriptor)
        try waitUntilMounted()
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { throw HarnessError("stat \(path): errno \(errno)\n\(messages)") }
        LiveMounts.add(path, device: UInt64(status.st_dev), daemon: daemon.pid)
        _ = try self.status()
    }

    deinit {
        // A daemon that has ended frees the path for its successor.
        if !hasEnded {
            detach()
        }
    }

    /// With LATCHKEY_TRANSPORT, the way by which requests come; without it, the daemon chooses.
    private static let transport: [String] = {
        guard let value = unsafe getenv("LATCHKEY_TRANSPORT") else { return [] }
        let name = unsafe String(cString: value)
        return name.isEmpty ? [] : ["--transport", name]
    }()

    /// What the daemon wrote to its standard streams.
    var messages: String { String(decoding: log.contents, as: UTF8.self) }

    /// Whether the log grows past this many characters; the daemon writes it from a thread of its own.
    func logs(past count: Int) -> Bool {
        let end = ContinuousClock.now + .seconds(3)
        while messages.count <= count {
            guard ContinuousClock.now < end else { return false }
            usleep(5_000)
        }
        return true
    }

    func file(_ name: String) -> String {
        path + "/" + name
    }

    /// The mount table signals changes by POLLPRI, so the test need not guess how long a mount takes.
    private func waitUntilMounted() throws {
        let table = unsafe Glibc.open("/proc/self/mounts", O_RDONLY | O_CLOEXEC)
        defer { close(table) }
        let end = ContinuousClock.now + .seconds(30)
        while mountLines(of: path).isEmpty {
            if let status = daemon.wait(seconds: 0) {
                throw HarnessError("mount: exit \(status)\n\(messages)")
            }
            guard ContinuousClock.now < end else {
                daemon.send(SIGKILL)
                throw HarnessError("no mount after 30 s\n\(messages)")
            }
            var waiting = pollfd(fd: table, events: Int16(POLLPRI), revents: 0)
            unsafe poll(&waiting, 1, 50)
        }
    }

    // MARK: Commands

    func latchkey(_ arguments: [String], within seconds: Double = 60) throws -> Outcome {
        try vault.latchkey(arguments, within: seconds)
    }

    func latchkey(_ arguments: String..., within seconds: Double = 60) throws -> Outcome {
        try vault.latchkey(arguments, within: seconds)
    }

    func unlock() throws {
        try latchkey("unlock", path, "--passcode-file", vault.passcodeFile).succeeded()
    }

    /// Returns when the keys are gone.
    func lockNow() throws {
        try latchkey("lock", path, "--now", "--wait").succeeded()
    }

    /// The same for class C as well.
    func lockDeeply() throws {
        try latchkey("lock", path, "--deep", "--now", "--wait").succeeded()
    }

    /// Locks as deeply as it takes to close the class.
    func lock(closing protection: ProtectionClass) throws {
        if protection == .completeUntilFirstUserAuthentication { try lockDeeply() } else { try lockNow() }
    }

    func status() throws -> MountStatus {
        let outcome = try latchkey("status", path, "--json").succeeded()
        return try MountStatus(json: outcome.output)
    }

    /// Returns when the daemon has received every close: close(2) does not wait for that.
    func untilNothingIsOpen() throws {
        let end = ContinuousClock.now + .seconds(20)
        while true {
            let status = try status()
            if status.openFiles.values.allSatisfy({ $0 == 0 }), status.fileKeysInMemory == 0 { return }
            guard ContinuousClock.now < end else { throw HarnessError("still open: \(status)") }
        }
    }

    /// Its control socket, named by the volume ID.
    func socket() throws -> String {
        let volume = String(hexadecimal: try Disk.read(vault.keybag)[28..<44])
        let user = geteuid() == 0 ? "/run/latchkey" : "/tmp/latchkey-\(geteuid())"
        return "\(user)/\(volume).socket"
    }

    func explain(_ name: String) throws -> [String: Any] {
        let outcome = try latchkey("explain", "--json", file(name)).succeeded()
        let json = try JSONSerialization.jsonObject(with: Data(outcome.output))
        guard let fields = (json as? [String: Any]) ?? (json as? [[String: Any]])?.first else {
            throw HarnessError("explain --json: no object: \(outcome)")
        }
        return fields
    }

    /// The absolute path of a file's ciphertext.
    func backingPath(_ name: String) throws -> String {
        guard let path = try explain(name)["backingPath"] as? String else {
            throw HarnessError("explain --json \(name): no backingPath")
        }
        return path.hasPrefix("/") ? path : vault.path + "/" + path
    }

    // MARK: Its end

    /// Unmounts with the command; the daemon must exit by itself with status 0, and no mount, socket or process stays.
    /// Another program may look into the mount for a moment, which makes it busy: then one retry.
    func unmount() throws {
        let end = ContinuousClock.now + .seconds(5)
        var outcome = try latchkey("unmount", path)
        while outcome.errors.contains("is in use"), ContinuousClock.now < end {
            usleep(10_000)
            outcome = try latchkey("unmount", path)
        }
        try outcome.succeeded()
        expectEnded(status: 0)
    }

    /// The daemon exits with this status, and neither its mount nor its socket stays.
    func expectEnded(status expected: Int32?, sourceLocation: SourceLocation = #_sourceLocation) {
        let status = daemon.wait(seconds: 20)
        #expect(status != nil, "the daemon still runs after the unmount\n\(messages)", sourceLocation: sourceLocation)
        if status == nil {
            daemon.send(SIGKILL)
            LiveMounts.abortAll()
        }
        if let expected, let status {
            #expect(status == expected, "the daemon's exit status\n\(messages)", sourceLocation: sourceLocation)
        }
        if let socket = try? socket() {
            #expect(!Disk.exists(socket), "the socket is left", sourceLocation: sourceLocation)
        }
        #expect(mountLines(of: path).isEmpty, "the mount is left", sourceLocation: sourceLocation)
        hasEnded = mountLines(of: path).isEmpty
        LiveMounts.remove(path)
    }

    /// Kills the daemon as a crash would; the mount stays and answers ENOTCONN until it is detached.
    func kill() {
        daemon.send(SIGKILL)
        daemon.wait()
    }

    func detach() {
        hasEnded = true
        unsafe umount2(path, Int32(MNT_DETACH))
        LiveMounts.remove(path)
    }
}

/// Mounts, runs the body, unmounts and checks that nothing stays, whether the body throws or not.
@discardableResult func withMount<Result>(
    _ vault: Vault, unlocked: Bool = true, grace: Int = 1, options: [String] = [], descriptorLimit: Int? = nil,
    _ body: (MountedVault) throws -> Result
) throws -> Result {
    let mount = try MountedVault(
        vault, unlocked: unlocked, grace: grace, options: options, descriptorLimit: descriptorLimit)
    do {
        let result = try body(mount)
        try mount.unmount()
        return result
    } catch {
        mount.detach()
        mount.daemon.send(SIGKILL)
        throw HarnessError("\(error)\nthe daemon said: \(mount.messages.suffix(2000))")
    }
}
