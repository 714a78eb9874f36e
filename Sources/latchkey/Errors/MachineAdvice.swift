import Glibc
import Posix
import TPM

/// Commands for failures whose cause lies in the machine, not in the vault.
enum MachineAdvice {
    /// For a folder or file on a file system that fails, or takes no writes.
    static func forFileSystem(of path: Path, _ errno: Errno) -> [Printable] {
        switch errno {
        case .EIO:
            ["findmnt -T \(path.quoted)   (the file system that fails)", "\(root)dmesg | tail   (what its disk says)"]
        case .ENOTCONN: ["findmnt -T \(path.quoted)   (the file system that is not connected; mount it anew)"]
        case .EROFS: ["findmnt -T \(path.quoted)   (the file system that is read-only)"]
        default: []
        }
    }

    /// For a mount that the kernel or fusermount3 refuses.
    ///
    /// - Parameter reason: the words of fusermount3 or libfuse.
    static func forMount(refused reason: String) -> [Printable] {
        var status = stat()
        guard unsafe stat(device, &status) == 0 else {
            return isContainer ? [container] : ["\(root)modprobe fuse"]
        }
        let file = unsafe open(device, O_RDWR | O_CLOEXEC)
        guard file >= 0 else {
            switch Errno.current {
            case .EACCES, .EPERM: return isContainer ? [container, listing] : [listing, "\(root)chmod 666 \(device)"]
            default: return ["\(root)modprobe fuse"]
            }
        }
        close(file)
        if reason.hasPrefix("fusermount3: "), reason.hasSuffix(Errno.ENOENT.description) {
            return ["\(root)apt install fuse3"]
        }
        return isContainer && reason.hasSuffix(Errno.EPERM.description) ? [container] : []
    }

    /// For a TPM that does not do what was asked.
    ///
    /// - Parameter reason: the words of `TPMError`.
    static func forTPM(_ reason: String) -> [Printable] {
        switch reason {
        case TPMError.noLibrary.description: ["\(root)apt install libtss2-esys-3.0.2-0 libtss2-tctildr0"]
        case TPMError.noDevice.description where isThere("/dev/tpmrm0") && !isThere("/dev/tpmrm0", R_OK | W_OK):
            ["sudo usermod -aG tss \"$USER\"   (then log in anew)"]
        case TPMError.noDevice.description: ["find /dev -name 'tpm*'   (which TPMs this machine has)"]
        default: []
        }
    }

    private static let device = "/dev/fuse"
    private static let container: Printable = "docker run --device /dev/fuse --cap-add SYS_ADMIN …   (for a container)"
    private static let listing: Printable = "ls -l /dev/fuse   (who may use it)"

    private static var root: Printable { geteuid() == 0 ? "" : "sudo " }

    /// Source: systemd's CONTAINER_INTERFACE; the files of docker and podman.
    private static var isContainer: Bool {
        ["/.dockerenv", "/run/.containerenv", "/run/systemd/container"].contains { isThere($0) }
    }

    private static func isThere(_ path: String, _ rights: Int32 = F_OK) -> Bool { unsafe access(path, rights) == 0 }
}
