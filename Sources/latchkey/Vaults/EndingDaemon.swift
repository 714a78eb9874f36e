import Administration
import Control
import Format
import Glibc
import Posix

/// The daemon of an earlier mount of the vault. It may still run when the mount point is free: umount(8) and
/// fusermount3 do not wait for its end.
struct EndingDaemon {
    let vault: AbsolutePath

    /// Seconds that it gets to write what is dirty.
    private static let patience = 10.0
    /// Seconds after which programs that still use files of the earlier mount are reported.
    private static let patienceForUsers = 1.0

    /// Returns when no daemon holds the vault.
    ///
    /// - Throws: if the vault is mounted, or its daemon does not end in time.
    func waitUntilEnded() throws(CommandError) {
        let start = ContinuousClock.now
        var hasTold = false, hasLooked = false
        while true {
            let served = try PathArgument.mount(ofVault: vault)
            if let served, try inWords(try MountTable()).latchkeyMount(device: served.status.device) != nil {
                let point = served.status.mountPoint
                throw CommandError(
                    .failed, "the vault \(vault.path) is mounted already, on \(point)",
                    try: "latchkey status \(point.quoted)")
            }
            guard served != nil || isLocked else { return }
            let waited = start.duration(to: .now)
            guard waited < .seconds(Self.patience) else { throw try stillThere(served) }
            if !hasLooked, waited > .seconds(Self.patienceForUsers), let served {
                hasLooked = true
                if try !Holders(of: served).holders.isEmpty { throw try stillThere(served) }
            }
            if !hasTold, isatty(STDERR_FILENO) == 1 {
                Standard.error("Waiting for the daemon of an earlier mount of \(vault.path) to end.")
                hasTold = true
            }
            usleep(20_000)
        }
    }

    private func stillThere(_ served: ServedMount?) throws(CommandError) -> CommandError {
        guard let served else {
            return CommandError(
                .failed, "another process has the vault \(vault.path): fsck, or a daemon that does not answer",
                try: "latchkey status", "fuser -v \(lockFile.quoted)")
        }
        let found = try Holders(of: served)
        let why: Printable =
            found.holders.isEmpty
            ? """
            a program that this user may not see has a file of it open, or another mount namespace, such as a \
            container's, still has the mount
            """
            : "programs use its files:\(found.lines.map { "\n  \($0)" as Printable }.joined())"
        return CommandError(
            .failed,
            "the daemon of an earlier mount of \(vault.path), process \(served.status.pid), has not ended: \(why)",
            try: "grep -lwF \(served.status.mountPoint.quoted) /proc/[0-9]*/mountinfo",
            "latchkey lock --now \(vault.path.quoted)")
    }

    private var lockFile: Path { vault.path.asFolder + BackingName.lock }

    /// Whether a process holds the vault, according to /proc/locks: taking the lock to find out could make a starting
    /// daemon fail. Source: proc_locks(5).
    private var isLocked: Bool {
        var status = stat()
        guard lockFile.linkStatus(&status) == 0,
            let bytes = try? Descriptor.open(path: "/proc/locks", O_RDONLY).bytes()
        else { return false }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").contains { line in
            let fields = line.split(separator: " ")
            guard fields.count > 5, fields[1] == "FLOCK" else { return false }
            let numbers = fields[5].split(separator: ":")
            guard numbers.count == 3, let major = UInt64(numbers[0], radix: 16),
                let minor = UInt64(numbers[1], radix: 16), let inode = UInt64(numbers[2])
            else { return false }
            return inode == UInt64(status.st_ino) && MountTable.device(major, minor) == UInt64(status.st_dev)
        }
    }
}
