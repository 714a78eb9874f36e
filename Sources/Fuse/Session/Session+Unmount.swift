import CFuse
import Glibc
import Posix

extension Session {
    /// Unmounts, after which `run` returns. Without `lazily` at once, or throws EBUSY and changes nothing; with
    /// `lazily`, when the mount is no longer in use. Returns false without effect if the path no longer leads to this
    /// mount.
    ///
    /// Not from a handler: the kernel writes back dirty pages first.
    ///
    /// Source: umount2(2); as an ordinary user fusermount3(1).
    @discardableResult public func unmount(lazily: Bool = false) throws(Errno) -> Bool {
        guard let point = withState({ $0.point }), point.isStillMounted else { return false }
        try detach(point, lazily: lazily)
        return true
    }

    /// Aborts the connection to the kernel: every present and future call on the mount fails, and `run` returns. For a
    /// mount that does not answer.
    ///
    /// Source: /sys/fs/fuse/connections/N/abort; where that is not mounted, umount2(2) with MNT_FORCE, as root.
    public func abort() throws(Errno) {
        guard let point = withState({ $0.point }), point.isStillMounted else { return }
        if let stream = unsafe fopen("/sys/fs/fuse/connections/\(point.connection)/abort", "we") {
            unsafe fputs("1", stream)
            guard unsafe fclose(stream) == 0 else { throw .current }
        } else if point.path.unmount(Int32(MNT_FORCE | MNT_DETACH | UMOUNT_NOFOLLOW)) != 0 {
            throw .current
        }
    }

    func detach(_ point: MountPoint, lazily: Bool) throws(Errno) {
        let flags = Int32(UMOUNT_NOFOLLOW | (lazily ? MNT_DETACH : 0))
        if point.path.unmount(flags) == 0 { return }
        let error = Errno.current
        guard error == .EPERM else { throw error }
        try Fusermount.unmount(point.path, lazily: lazily)
    }
}
