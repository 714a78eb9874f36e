import Glibc
import Posix
import TestSupport

/// A TPM 2.0 in software (swtpm) with a state of its own. The state goes when the value or the process ends.
///
/// Any number may run at once, each for one thread at a time.
public final class SoftTPM {
    private let folder: TemporaryFolder
    /// The shell ends swtpm when its input ends.
    private var shell: LineProgram?

    /// Manufactures one and switches it on.
    public init() throws {
        folder = try TemporaryFolder(mode: 0o700)
        try switchOn()
    }

    deinit {
        switchOff()
    }

    var socketPath: String { path("tpm") }

    /// The path of a file that is removed with it.
    public func path(_ name: String) -> String { folder.path(name) }

    /// The way to it for tpm2-tss.
    public var tcti: String { "swtpm:path=" + socketPath }

    /// Takes the power away without a shutdown command, and gives it back.
    public func powerCycle() throws {
        switchOff()
        try switchOn()
    }

    /// Ends swtpm; its state stays. No effect when it is off already.
    public func switchOff() {
        guard let shell else { return }
        shell.endInput()
        shell.process.wait()
        self.shell = nil
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
        shell = try LineProgram("sh", ["-c", "cd \"$0\" || exit\n" + script, folder.path])
        guard isReady() else {
            switchOff()
            let log = (try? Disk.read(path("swtpm.log"))) ?? []
            throw HarnessError("swtpm does not start: " + String(decoding: log, as: UTF8.self))
        }
    }

    /// Whether it listens within ten seconds.
    private func isReady() -> Bool {
        let end = ContinuousClock.now + .seconds(10)
        repeat {
            let sockets = try? (UnixSocket.connect(to: socketPath), UnixSocket.connect(to: socketPath + ".ctrl"))
            if sockets != nil { return true }
            usleep(2_000)
        } while ContinuousClock.now < end
        return false
    }
}
