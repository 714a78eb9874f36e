import Glibc
public import Posix

/// By which way the requests of a mount come.
public enum TransportUse: Hashable, Sendable {
    /// The kernel has not said yet what it offers: no program has used the mount.
    case open
    case ring
    case device(NoRing)

    /// Why requests do not come by rings.
    public enum NoRing: Hashable, Sendable {
        case notWanted
        /// The kernel has no FUSE over io_uring.
        case notSupported
        /// The kernel's module has it switched off.
        case switchedOff
        /// What the kernel said: EPERM if io_uring is forbidden, by the sysctl kernel.io_uring_disabled or by seccomp.
        case refused(Errno)
    }
}

/// The switch of the kernel's module.
///
/// Source: Documentation/filesystems/fuse/fuse-io-uring.rst.
public enum RingSwitch {
    public static let path: Path = "/sys/module/fuse/parameters/enable_uring"

    /// The command of root that switches it on until the next boot.
    public static let now: Printable = "echo Y > \(path)"

    /// The command of root that switches it on at each boot: of the module, or where it is built into the kernel.
    public static var always: Printable {
        let isModule = Path("/sys/module/fuse/initstate").access(F_OK) == 0
        return isModule
            ? "echo options fuse enable_uring=Y > /etc/modprobe.d/fuse-io_uring.conf"
            : "echo 'w \(path) - - - - Y' > /etc/tmpfiles.d/fuse-io_uring.conf"
    }

    /// Why requests would not come by rings; nil if they would, as far as that shows before a mount.
    public static var obstacle: TransportUse.NoRing? {
        if let problem { return problem }
        do throws(Errno) { _ = try Ring() } catch { return .refused(error) }
        return nil
    }

    /// Why the kernel offers no rings; nil if it does, or that cannot be read.
    static var problem: TransportUse.NoRing? {
        do throws(Errno) {
            let bytes = try Descriptor.open(path: path, O_RDONLY).bytes(atMost: 16)
            return bytes.first == UInt8(ascii: "N") ? .switchedOff : nil
        } catch { return error == .ENOENT ? .notSupported : nil }
    }
}
