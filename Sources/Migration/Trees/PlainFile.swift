import Glibc
import Posix
import Synchronization

/// An open file of a plain folder.
final class PlainFile: Sendable {
    let descriptor: Descriptor
    /// Where a staged file lies in the folder for those, until it has its name.
    let stagedName: Mutex<Name?>
    /// Whether the kernel makes programs wait that open the file to write, and tells of them.
    let hasLease: Bool

    init(_ descriptor: Descriptor, stagedName: Name? = nil, hasLease: Bool = false) {
        self.descriptor = descriptor
        self.stagedName = Mutex(stagedName)
        self.hasLease = hasLease
    }

    /// Whether a program waits to write to the file, or may have written to it.
    var isLeaseBroken: Bool { hasLease && descriptor.lease != F_RDLCK }
}

extension Descriptor {
    private static let setLease: Int32 = 1024
    private static let getLease: Int32 = 1025

    /// Takes a read lease: while it is held, a program that opens the file to write, or truncates it, waits (up to 45
    /// seconds: /proc/sys/fs/lease-break-time). `EAGAIN` if a program has it open for writing now. The process must
    /// ignore SIGIO.
    ///
    /// Source: fcntl(2), F_SETLEASE.
    func takeReadLease() throws(Errno) {
        guard fcntl(number, Self.setLease, F_RDLCK) == -1 else { return }
        throw Errno(rawValue: errno)
    }

    /// F_RDLCK while a read lease is held and no program waits to write.
    var lease: Int32 { fcntl(number, Self.getLease) }

    /// Takes a write lease, which only one descriptor of a file can have: false if any other is open.
    func takeWriteLease() -> Bool { fcntl(number, Self.setLease, F_WRLCK) == 0 }

    /// Closes the file; from then on this is a descriptor of /dev/null.
    func letGo() throws(Errno) {
        let nothing = try Descriptor.open(path: "/dev/null", O_RDONLY)
        guard dup2(nothing.number, number) != -1, fcntl(number, F_SETFD, FD_CLOEXEC) != -1 else { throw .current }
    }

    func giveUpLease() { _ = fcntl(number, Self.setLease, F_UNLCK) }
}
