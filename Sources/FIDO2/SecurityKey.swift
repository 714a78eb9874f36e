internal import CFIDO2
internal import Crypto

/// A connection to a FIDO2 security key with hmac-secret; one thread at a time.
///
/// The first one in a process loads libfido2 and removes FIDO_DEBUG from the environment, with which libfido2 would
/// print the traffic with the key: make it before there are threads that read the environment.
@safe
public struct SecurityKey: ~Copyable {
    let connection: OpaquePointer
    /// The path of a device, or "socket:" and the path of a Unix socket.
    public let path: String

    /// Connects, and checks that the key is suitable.
    /// - Parameter patience: how long one request may take, including a touch. Keys themselves wait about half a
    ///   minute.
    /// - Throws: `noLibrary`, `noDevice`, `unfit`; `crypto` if the locked heap, which OpenSSL then uses for libfido2
    ///   too, cannot be set up.
    public init(path: String, patience: Duration = .seconds(60)) throws(FIDO2Error) {
        try Self.prepare()
        var opened: OpaquePointer?
        try check(unsafe lk_fido2_open(path, Int32(patience / .milliseconds(1)), &opened))
        guard let opened = unsafe opened else { throw .noDevice }
        unsafe connection = opened
        self.path = path
    }

    deinit { unsafe lk_fido2_close(connection) }

    /// The paths of the keys that are plugged in and accessible to this user, at most 16.
    /// - Throws: `noLibrary`, `other`.
    public static func pluggedIn() throws(FIDO2Error) -> [String] {
        try prepare()
        let size = Int(LK_FIDO2_PATH_MAX)
        var names = [CChar](repeating: 0, count: Int(LK_FIDO2_KEYS_MAX) * size)
        var count = 0
        try check(unsafe lk_fido2_list(&names, &count))
        return (0..<count).map { index in
            let name = names[index * size..<(index + 1) * size].prefix { $0 != 0 }
            return String(decoding: name.map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
    }

    /// Whether a PIN is set.
    public var hasPIN: Bool { unsafe lk_fido2_has_pin(connection) != 0 }

    /// Whether the key has different secrets with and without the PIN, as from CTAP 2.1 on.
    public var keepsPINApart: Bool { unsafe lk_fido2_has_two_secrets(connection) != 0 }

    /// The number of wrong PINs that the key still accepts.
    func tries() throws(FIDO2Error) -> Int {
        var tries: Int32 = 0
        try check(unsafe lk_fido2_tries(connection, &tries))
        return Int(tries)
    }

    private static func prepare() throws(FIDO2Error) {
        do { try SecureHeap.initialize() } catch { throw .crypto(error) }
    }
}
