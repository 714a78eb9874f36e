import CFuse
import Glibc
public import Posix

/// Why a mount failed.
public struct MountError: Error, CustomStringConvertible {
    /// The error of mount(2), if that call failed.
    public let errno: Errno?
    /// The message of libfuse or fusermount3, in English.
    public let message: Printable

    public var description: String { message.text }
}

/// Where a session is mounted.
struct MountPoint: Sendable {
    let path: Path
    let device: UInt64
    /// The name of the connection's folder in /sys/fs/fuse/connections.
    let connection: UInt32

    init(_ path: Path) throws(Errno) {
        self.path = path
        var device: UInt64 = 0
        var minor: UInt32 = 0
        let result = unsafe path.withCString { unsafe lk_fuse_device($0, &device, &minor) }
        guard result == 0 else { throw Errno(rawValue: result) }
        self.device = device
        connection = minor
    }

    /// Whether the path still leads to this mount.
    var isStillMounted: Bool {
        (try? MountPoint(path))?.device == device
    }
}

extension Session {
    /// Mounts at an existing directory (or file): with root's rights by mount(2), otherwise by fusermount3.
    ///
    /// Each of `options` is one of `mount -o`: allow_other, default_permissions, ro, dev, suid, noexec, noatime,
    /// fsname=, subtype= and so on; a comma in it is part of it. nosuid and nodev apply unless suid and dev are given.
    /// Programs that use the mount block until `run` is called.
    ///
    /// - Parameter source: what the mount table shows as the source; nil for none, or for that of `fsname=`.
    ///
    /// Source: fuse_session_new, fuse_session_mount; mount.fuse3(8).
    public func mount(at path: Path, options: [String] = [], source: Path? = nil) throws(MountError) {
        precondition(isNew, "a session is mounted once")
        let path = try Self.absolute(path)
        let list = options.map { Array($0.utf8) } + (source.map { [Array("fsname=".utf8) + $0.bytes] } ?? [])
        allowsOnlyRoot.store(options.contains("allow_root"), ordering: .relaxed)
        let raw = try unsafe makeSession(list)
        // It closes its descriptor of the device, and unmounts nothing.
        defer { unsafe fuse_session_destroy(raw) }
        let device: Descriptor
        if geteuid() == 0 || Capabilities.administer.areHeld || options.contains("auto_unmount") {
            device = try unsafe mountDirectly(raw, at: path)
        } else {
            device = try mountAsUser(at: path, list)
        }
        try adopt(FuseDevice(device), at: path)
    }

    private static func absolute(_ path: Path) throws(MountError) -> Path {
        do throws(Errno) { return try path.resolved() } catch {
            throw MountError(errno: error, message: "\(path): \(error)")
        }
    }

    /// By mount(2), or if root lacks the privilege, by fusermount3 as libfuse runs it.
    private func mountDirectly(_ raw: OpaquePointer, at path: Path) throws(MountError) -> Descriptor {
        let (failure, messages) = Log.collect { () -> Errno? in
            Glibc.errno = 0
            return unsafe path.withCString { unsafe fuse_session_mount(raw, $0) == 0 ? nil : .current }
        }
        if let failure {
            throw MountError(errno: failure.rawValue == 0 ? nil : failure, message: Printable(line: messages))
        }
        let number = unsafe lk_fuse_duplicate(fuse_session_fd(raw))
        guard number >= 0 else {
            let error = Errno.current
            unsafe fuse_session_unmount(raw)
            throw MountError(errno: error, message: "the FUSE device was lost")
        }
        return Descriptor(owning: number)
    }

    /// Not through libfuse, which loses the error message of fusermount3.
    private func mountAsUser(at path: Path, _ options: [[UInt8]]) throws(MountError) -> Descriptor {
        // allow_root exists only here: the kernel gets allow_other, and the session checks each request.
        let kernel = options.map { $0.elementsEqual("allow_root".utf8) ? Array("allow_other".utf8) : $0 }
        let list = Self.joined(["nosuid", "nodev"].map { Array($0.utf8) } + kernel)
        return try Fusermount.mount(at: path, options: list)
    }

    private func adopt(_ device: FuseDevice, at path: Path) throws(MountError) {
        do throws(Errno) {
            let point = try MountPoint(path)
            notifier.attach(device)
            withState { state in
                state.point = point
                state.device = device
                state.phase = .mounted
            }
        } catch {
            // The mount goes with its connection, which the device's end ends; what is left of it shows ENOTCONN.
            _ = path.unmount(Int32(MNT_DETACH | UMOUNT_NOFOLLOW))
            throw MountError(errno: error, message: "\(path): \(error)")
        }
    }

    private var isNew: Bool {
        withState { $0.phase == .new }
    }

    private func makeSession(_ options: [[UInt8]]) throws(MountError) -> OpaquePointer {
        Log.capture()
        var arguments = [Array("fuse".utf8)]
        if !options.isEmpty { arguments += [Array("-o".utf8), Self.joined(options)] }
        let (made, messages) = unsafe Log.collect { unsafe makeSession(arguments: arguments) }
        guard let raw = unsafe made else { throw MountError(errno: .EINVAL, message: Printable(line: messages)) }
        return unsafe raw
    }

    private func makeSession(arguments: [[UInt8]]) -> OpaquePointer? {
        var pointers = unsafe CStrings.make(arguments)
        defer { unsafe CStrings.free(pointers) }
        return unsafe pointers.withUnsafeMutableBufferPointer { pointers in
            var list = unsafe fuse_args(argc: Int32(pointers.count - 1), argv: pointers.baseAddress, allocated: 0)
            // libfuse copies the list when it removes options from it.
            defer { unsafe fuse_opt_free_args(&list) }
            return unsafe lk_fuse_session_new(&list)
        }
    }

    /// A comma separates options, a backslash escapes.
    private static func joined(_ options: [[UInt8]]) -> [UInt8] {
        let (comma, backslash) = (UInt8(ascii: ","), UInt8(ascii: "\\"))
        let escaped = options.map { $0.flatMap { $0 == comma || $0 == backslash ? [backslash, $0] : [$0] } }
        return Array(escaped.joined(separator: [comma]))
    }
}
