import CLinux
import Glibc
import Posix

/// The mount namespace that mount(8) and umount(8) name with `-N`.
enum MountNamespace {
    /// Enters it. Call it before the first thread.
    ///
    /// - Parameter name: a process ID, or the path of a namespace. Source: mount(8), `--namespace`.
    static func enter(_ name: String) throws(HelperError) {
        let path = name.allSatisfy(\.isNumber) ? "/proc/\(name)/ns/mnt" : name
        do throws(Errno) {
            let descriptor = try Descriptor.open(path: path, O_RDONLY)
            defer { withExtendedLifetime(descriptor) {} }
            guard lk_join_mounts(descriptor.number) == 0 else { throw .current }
        } catch {
            throw HelperError(error == .EPERM ? .usage : .systemError, "cannot enter the namespace \(path): \(error)")
        }
    }
}
