import Glibc
import Posix

/// A command that runs in the foreground, as under nohup(1), timeout(1) or sudo(8), and gets this process's signals.
///
/// Keys of the terminal reach it without help: the kernel signals every process of the foreground. What a process has
/// sent is passed on; if it was sent to the whole process group, the command gets it twice.
struct HeldCommand: ~Copyable {
    private static let passedOn = [SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2]

    private let words: [Path]
    private let signals: SignalDescriptor
    /// The signals that were blocked before: the command gets the same mask.
    private let mask: sigset_t

    /// - Parameter words: the program, looked up in PATH, and its arguments.
    init(_ words: [Path]) throws(CommandError) {
        self.words = words
        // If the parent ignores its children, the kernel keeps no exit status.
        _ = signal(SIGCHLD, SIG_DFL)
        var mask = sigset_t()
        _ = unsafe pthread_sigmask(SIG_BLOCK, nil, &mask)
        self.mask = mask
        do throws(Errno) { signals = try SignalDescriptor(blocking: Self.passedOn + [SIGCHLD]) } catch {
            throw CommandError(.failed, "cannot wait for signals: \(error)")
        }
    }

    /// The program's file name, without its folder and its arguments, which may be secret.
    var name: String { String(decoding: words[0].bytes.split(separator: UInt8(ascii: "/")).last ?? [], as: UTF8.self) }

    /// Runs it to its end. Returns its exit status, 128 and the signal that has ended it, or 127 or 126 if it cannot be
    /// run.
    func run() throws(CommandError) -> Int32 {
        try dieIfSignalled()
        let process: pid_t
        do throws(Errno) {
            process = try unsafe Process.start(words[0], named: words[0], Array(words.dropFirst())) { _, attributes in
                var mask = mask
                _ = unsafe posix_spawnattr_setsigmask(&attributes, &mask)
                _ = unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
            }
        } catch {
            Standard.error("latchkey: cannot run \(words[0]): \(error)")
            return error == .ENOENT ? 127 : 126
        }
        while true {
            do throws(Errno) {
                let (signal, isSent) = try signals.nextWithOrigin()
                guard signal == SIGCHLD else {
                    if isSent { _ = kill(process, signal) }
                    continue
                }
            } catch .EINTR {
                continue
            } catch {
                return Process.exitCode(of: process)
            }
            var status: Int32 = 0
            // Also sent when it stops and goes on.
            if unsafe waitpid(process, &status, WNOHANG) == process { return Process.exitCode(status) }
        }
    }

    /// Ctrl-C while the daemons were asked.
    private func dieIfSignalled() throws(CommandError) {
        while let ready = try? Poll.readable([signals.descriptor], timeout: .zero), !ready.isEmpty,
            let signal = try? signals.next()
        {
            if Self.passedOn.contains(signal) { Interruption.die(of: signal) }
        }
    }
}
