import Foundation
import Glibc

/// A TPM 2.0 in software (swtpm) with a state of its own, gone with all of it when it ends, and when the process does.
///
/// Any number at once, each for one thread at a time.
@safe
public final class SoftTPM {
    /// Why there is none.
    public struct Failure: Error, CustomStringConvertible {
        public let description: String
    }

    private let folder: String
    private var shell: pid_t = 0
    /// The shell ends swtpm when nobody holds the other end any more.
    private var leash: Int32 = -1

    /// Manufactures one and switches it on.
    public init() throws {
        // Names of sockets have less than 108 bytes.
        var template = Array("\(FileManager.default.temporaryDirectory.path)/tpm.XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw Failure(description: "mkdtemp: errno \(errno)") }
        folder = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        try switchOn()
    }

    deinit {
        switchOff()
        try? FileManager.default.removeItem(atPath: folder)
    }

    var socketPath: String { path("tpm") }

    /// The path of a file that goes when it does.
    public func path(_ name: String) -> String { folder + "/" + name }

    /// The way to it for tpm2-tss.
    public var tcti: String { "swtpm:path=" + socketPath }

    /// Takes its power away without a word to it, and gives it back.
    public func powerCycle() throws {
        switchOff()
        try switchOn()
    }

    /// Ends swtpm; its state stays. No effect when it is off already.
    public func switchOff() {
        guard leash >= 0 else { return }
        close(leash)
        leash = -1
        while waitpid(shell, nil, 0) < 0 && errno == EINTR {}
    }

    private func switchOn() throws {
        let script = """
            swtpm socket --tpm2 --tpmstate dir=. --server type=unixio,path=tpm --ctrl type=unixio,path=tpm.ctrl \
                --flags not-need-init,startup-clear >swtpm.log 2>&1 &
            read -r _
            kill -KILL $!
            wait
            rm -f tpm tpm.ctrl
            """
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
            throw Failure(description: "socketpair: errno \(errno)")
        }
        leash = ends[0]
        let code = spawn(["sh", "-c", "cd \"$0\" || exit\n" + script, folder], input: ends[1])
        close(ends[1])
        guard code == 0 else {
            close(leash)
            leash = -1
            throw Failure(description: "cannot start a shell: errno \(code)")
        }
        guard isReady() else {
            switchOff()
            let log = FileManager.default.contents(atPath: folder + "/swtpm.log") ?? Data()
            throw Failure(description: "swtpm does not start: " + String(decoding: log, as: UTF8.self))
        }
    }

    private func spawn(_ words: [String], input: Int32) -> Int32 {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, input, 0)
        // A test's thread may have signals blocked, and a shell that hears of no child's end waits for it for ever.
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var blocked = sigset_t()
        unsafe sigemptyset(&blocked)
        unsafe posix_spawnattr_setsigmask(&attributes, &blocked)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        let line = unsafe words.map { unsafe strdup($0) } + [nil]
        defer { unsafe line.forEach { unsafe free($0) } }
        return unsafe posix_spawn(&shell, "/bin/sh", &actions, &attributes, line, environ)
    }

    /// Whether it listens within ten seconds.
    private func isReady() -> Bool {
        let end = ContinuousClock.now + .seconds(10)
        repeat {
            if let command = connectedSocket(to: socketPath), let control = connectedSocket(to: socketPath + ".ctrl") {
                close(command)
                close(control)
                return true
            }
            usleep(2_000)
        } while ContinuousClock.now < end
        return false
    }
}
