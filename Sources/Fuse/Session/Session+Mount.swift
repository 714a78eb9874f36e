import CFuse
import Glibc
import Posix

/// Why a mount failed.
public struct MountError: Error, CustomStringConvertible {
    /// The error of mount(2), if that call failed.
    public let errno: Errno?
    /// The message of libfuse or fusermount3, in English.
    public let message: String

    public var description: String { message }
}

/// Where a session is mounted.
struct MountPoint: Sendable {
    let path: String
    let device: UInt64
    /// The name of the connection's folder in /sys/fs/fuse/connections.
    let connection: UInt32

    init(_ path: String) throws(Errno) {
        self.path = path
        var device: UInt64 = 0
        var minor: UInt32 = 0
        let result = unsafe lk_fuse_device(path, &device, &minor)
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
    /// Mounts at an existing directory (or file): as root by mount(2), otherwise by fusermount3.
    ///
    /// Each of `options` is one of `mount -o`: allow_other, default_permissions, ro, dev, suid, noexec, noatime,
    /// fsname=, subtype= and so on; a comma in it is part of it. nosuid and nodev apply unless suid and dev are given.
    /// Programs that use the mount block until `run` is called.
    ///
    /// Source: fuse_session_new, fuse_session_mount; mount.fuse3(8).
    public func mount(at path: String, options: [String] = []) throws(MountError) {
        precondition(isNew, "a session is mounted once")
        let path = try Self.absolute(path)
        let raw = try unsafe makeSession(options)
        do throws(MountError) {
            if geteuid() == 0 || options.contains("auto_unmount") {
                try unsafe mountDirectly(raw, at: path)
            } else {
                try unsafe mountAsUser(raw, at: path, options)
            }
            try unsafe adopt(raw, at: path)
        } catch {
            unsafe fuse_session_unmount(raw)
            unsafe fuse_session_destroy(raw)
            throw error
        }
    }

    private static func absolute(_ path: String) throws(MountError) -> String {
        guard let resolved = unsafe realpath(path, nil) else {
            let errno = Errno.current
            throw MountError(errno: errno, message: "\(path): \(errno)")
        }
        defer { unsafe free(resolved) }
        return unsafe String(cString: resolved)
    }

    /// By mount(2), or if root lacks the privilege, by fusermount3 as libfuse runs it.
    private func mountDirectly(_ raw: OpaquePointer, at path: String) throws(MountError) {
        let (failure, messages) = Log.collect { () -> Errno? in
            Glibc.errno = 0
            return unsafe fuse_session_mount(raw, path) == 0 ? nil : .current
        }
        if let failure { throw MountError(errno: failure.rawValue == 0 ? nil : failure, message: messages) }
        try unsafe intercept(raw, fuse_session_fd(raw))
    }

    /// Not through libfuse, which loses the error message of fusermount3.
    private func mountAsUser(_ raw: OpaquePointer, at path: String, _ options: [String]) throws(MountError) {
        // allow_root exists only in libfuse: the kernel gets allow_other, and libfuse checks each request.
        let kernel = options.map { $0 == "allow_root" ? "allow_other" : $0 }
        let list = (["nosuid", "nodev"] + kernel).map(Self.escaped).joined(separator: ",")
        let device = try Fusermount.mount(at: path, options: list)
        defer { withExtendedLifetime(device) {} }
        try unsafe intercept(raw, lk_fuse_duplicate(device.number))
    }

    private func intercept(_ raw: OpaquePointer, _ device: Int32) throws(MountError) {
        let result = unsafe lk_fuse_session_intercept(raw, device)
        if result != 0 { throw MountError(errno: Errno(rawValue: -result), message: "the FUSE device was lost") }
    }

    private func adopt(_ raw: OpaquePointer, at path: String) throws(MountError) {
        do throws(Errno) {
            let point = try MountPoint(path)
            unsafe notifier.attach(raw)
            let address = UInt(bitPattern: raw)
            withState { state in
                state.point = point
                state.phase = .mounted(address)
            }
        } catch {
            throw MountError(errno: error, message: "\(path): \(error)")
        }
    }

    private var isNew: Bool {
        withState { state in
            if case .new = state.phase { true } else { false }
        }
    }

    private func makeSession(_ options: [String]) throws(MountError) -> OpaquePointer {
        Log.capture()
        var arguments = ["fuse"]
        if !options.isEmpty { arguments += ["-o", options.map(Self.escaped).joined(separator: ",")] }
        let (made, messages) = unsafe Log.collect { unsafe makeSession(arguments: arguments) }
        guard let raw = unsafe made else { throw MountError(errno: .EINVAL, message: messages) }
        return unsafe raw
    }

    private func makeSession(arguments: [String]) -> OpaquePointer? {
        var pointers = unsafe CStrings.make(arguments)
        defer { unsafe CStrings.free(pointers) }
        var operations = Self.operations
        let this = unsafe Unmanaged.passUnretained(self).toOpaque()
        return unsafe pointers.withUnsafeMutableBufferPointer { pointers in
            var list = unsafe fuse_args(argc: Int32(pointers.count - 1), argv: pointers.baseAddress, allocated: 0)
            // libfuse copies the list when it removes options from it.
            defer { unsafe fuse_opt_free_args(&list) }
            return unsafe fuse_session_new(&list, &operations, MemoryLayout<fuse_lowlevel_ops>.size, this)
        }
    }

    /// A comma separates options, a backslash escapes.
    private static func escaped(_ option: String) -> String {
        option.replacing("\\", with: "\\\\").replacing(",", with: "\\,")
    }
}
