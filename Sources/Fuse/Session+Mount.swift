import CFuse
import Glibc
import Posix

/// Why a mount failed.
public struct MountError: Error, CustomStringConvertible {
    /// Of mount(2), as far as it was that call that failed.
    public let errno: Errno?
    /// What libfuse had to say, in English. What fusermount3 has to say, it writes to standard error.
    public let message: String

    public var description: String { message }
}

/// Where a session is mounted.
struct MountPlace: Sendable {
    let path: String
    let device: UInt64
    /// The name of its folder in /sys/fs/fuse/connections.
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

    /// Whether this very mount is still what the path leads to.
    var isInPlace: Bool {
        (try? MountPlace(path))?.device == device
    }
}

extension Session {
    /// Mounts at an existing directory (or file), as root by mount(2), otherwise by fusermount3.
    ///
    /// Each of `options` is one of `mount -o`: allow_other, default_permissions, ro, dev, suid, noexec, noatime, fsname=,
    /// subtype= and so on; commas in it belong to it. nosuid and nodev hold unless suid and dev are asked for. Whoever
    /// uses the mount waits until `run` is called.
    ///
    /// Source: fuse_session_new, fuse_session_mount; mount.fuse3(8).
    public func mount(at path: String, options: [String] = []) throws(MountError) {
        precondition(isNew, "a session is mounted once")
        Log.capture()
        guard let resolved = unsafe realpath(path, nil) else {
            let errno = Errno.current
            throw MountError(errno: errno, message: "\(path): \(errno)")
        }
        defer { unsafe free(resolved) }

        var arguments = ["fuse"]
        if !options.isEmpty { arguments += ["-o", options.map(Self.escaped).joined(separator: ",")] }
        let (made, newMessages) = unsafe Log.collect { unsafe makeSession(arguments) }
        guard let raw = unsafe made else { throw MountError(errno: .EINVAL, message: newMessages) }

        let (failure, messages) = Log.collect { () -> Errno? in
            Glibc.errno = 0
            return unsafe fuse_session_mount(raw, resolved) == 0 ? nil : .current
        }
        if let failure {
            unsafe fuse_session_destroy(raw)
            throw MountError(errno: failure.rawValue == 0 ? nil : failure, message: messages)
        }
        do throws(Errno) {
            let result = unsafe lk_fuse_session_intercept(raw)
            guard result == 0 else { throw Errno(rawValue: -result) }
            let place = try unsafe MountPlace(String(cString: resolved))
            unsafe notifier.attach(raw)
            let address = UInt(bitPattern: raw)
            withState { state in
                state.place = place
                state.phase = .mounted(address)
            }
        } catch {
            unsafe fuse_session_unmount(raw)
            unsafe fuse_session_destroy(raw)
            throw MountError(errno: error, message: "\(path): \(error)")
        }
    }

    private var isNew: Bool {
        withState { state in
            if case .new = state.phase { true } else { false }
        }
    }

    private func makeSession(_ arguments: [String]) -> OpaquePointer? {
        var pointers = unsafe CStrings.make(arguments)
        defer { unsafe CStrings.free(pointers) }
        var operations = Self.operations
        let this = unsafe Unmanaged.passUnretained(self).toOpaque()
        return unsafe pointers.withUnsafeMutableBufferPointer { pointers in
            var list = unsafe fuse_args(argc: Int32(pointers.count - 1), argv: pointers.baseAddress, allocated: 0)
            // libfuse copies the list when it takes options out of it.
            defer { unsafe fuse_opt_free_args(&list) }
            return unsafe fuse_session_new(&list, &operations, MemoryLayout<fuse_lowlevel_ops>.size, this)
        }
    }

    /// The comma separates options, the backslash escapes.
    private static func escaped(_ option: String) -> String {
        option.replacing("\\", with: "\\\\").replacing(",", with: "\\,")
    }
}
