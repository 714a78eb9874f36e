import CFuse
import Glibc
import Posix

extension Session {
    /// Takes the mount out of the tree, upon which `run` returns; `lazily`, when it is no longer in use, otherwise at
    /// once, or throws EBUSY and changes nothing. Without effect if it is not mounted any more.
    ///
    /// Not from a handler: the kernel writes back what is dirty first.
    ///
    /// Source: umount2(2); as an ordinary user fusermount3(1).
    public func unmount(lazily: Bool = false) throws(Errno) {
        guard let place = withState({ $0.place }), place.isInPlace else { return }
        try detach(place, lazily: lazily)
    }

    /// Cuts the connection to the kernel: every call on the mount that is under way or to come fails, and `run`
    /// returns. For a mount that does not answer.
    ///
    /// Source: /sys/fs/fuse/connections/N/abort; where that is not mounted, umount2(2) with MNT_FORCE, as root.
    public func abort() throws(Errno) {
        guard let place = withState({ $0.place }), place.isInPlace else { return }
        if let stream = unsafe fopen("/sys/fs/fuse/connections/\(place.connection)/abort", "we") {
            unsafe fputs("1", stream)
            guard unsafe fclose(stream) == 0 else { throw .current }
        } else if unsafe umount2(place.path, Int32(MNT_FORCE | MNT_DETACH | UMOUNT_NOFOLLOW)) != 0 {
            throw .current
        }
    }

    func detach(_ place: MountPlace, lazily: Bool) throws(Errno) {
        let flags = Int32(UMOUNT_NOFOLLOW | (lazily ? MNT_DETACH : 0))
        if unsafe umount2(place.path, flags) == 0 { return }
        let error = Errno.current
        guard error == .EPERM else { throw error }
        try Fusermount.unmount(place.path, lazily: lazily)
    }
}

/// The set-user-ID program by which ordinary users mount and unmount.
enum Fusermount {
    static func unmount(_ path: String, lazily: Bool) throws(Errno) {
        let (pid, errors) = try start(["fusermount3", "-u"] + (lazily ? ["-z"] : []) + ["--", path])
        let complaint = text(of: errors)
        var status: Int32 = 0
        while unsafe waitpid(pid, &status, 0) == -1 {
            guard Errno.current == .EINTR else { throw .current }
        }
        guard status != 0 else { return }
        // Its exit status is 1 for everything; the reason stands at the end of its one line.
        Log.emit(.error, complaint)
        throw complaint.contains(Errno.EBUSY.description) ? .EBUSY : .EPERM
    }

    /// Starts it in the C locale; what it writes to standard error is read from `errors`.
    private static func start(_ arguments: [String]) throws(Errno) -> (process: pid_t, errors: Descriptor) {
        let pipe = try Pipe()
        defer { withExtendedLifetime(pipe) {} }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, pipe.writeEnd.number, 2)
        var argv = unsafe CStrings.make(arguments)
        var environment = unsafe CStrings.make(["LC_ALL=C", "PATH=/usr/local/bin:/usr/bin:/bin"])
        defer {
            unsafe CStrings.free(argv)
            unsafe CStrings.free(environment)
        }
        var pid = pid_t()
        let result = unsafe posix_spawnp(&pid, arguments[0], &actions, nil, &argv, &environment)
        guard result == 0 else { throw Errno(rawValue: result) }
        return (pid, pipe.readEnd)
    }

    private static func text(of file: Descriptor) -> String {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1024)
        while true {
            let count = unsafe read(file.number, &chunk, chunk.count)
            if count > 0 {
                bytes += chunk[..<count]
            } else if count == 0 || Errno.current != .EINTR {
                return String(decoding: bytes, as: UTF8.self)
            }
        }
    }
}
