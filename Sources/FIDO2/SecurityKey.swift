internal import CFIDO2
internal import Crypto

/// A connection to a FIDO2 security key with hmac-secret; one thread at a time.
///
/// The first one in a process loads libfido2 and takes FIDO_DEBUG out of the environment, which would have it print
/// what goes to the key: make it before there are threads that read the environment.
@safe
public struct SecurityKey: ~Copyable {
    let connection: OpaquePointer
    /// Where it is: a device, or "socket:" and the path of a Unix socket.
    public let path: String

    /// Connects, and makes sure that it is of use.
    /// - Parameter patience: how long one question may take, a touch included. Keys themselves wait half a minute or so.
    /// - Throws: `noLibrary`, `noDevice`, `unfit`; `crypto` when the locked heap, in which OpenSSL then works for
    ///   libfido2 too, cannot be had.
    public init(path: String, patience: Duration = .seconds(60)) throws(FIDO2Error) {
        try Self.prepare()
        var opened: OpaquePointer?
        try check(unsafe lk_fido2_open(path, Int32(patience / .milliseconds(1)), &opened))
        guard let opened = unsafe opened else { throw .noDevice }
        unsafe connection = opened
        self.path = path
    }

    deinit { unsafe lk_fido2_close(connection) }

    /// The paths of those that are plugged in and that this user may use, at most 16.
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

    /// Whether somebody has set a PIN.
    public var hasPIN: Bool { unsafe lk_fido2_has_pin(connection) != 0 }

    /// Whether who has not given the PIN gets another secret than who has: so it is from CTAP 2.1 on.
    public var keepsPINApart: Bool { unsafe lk_fido2_has_two_secrets(connection) != 0 }

    /// How many wrong PINs it still takes.
    func tries() throws(FIDO2Error) -> Int {
        var tries: Int32 = 0
        try check(unsafe lk_fido2_tries(connection, &tries))
        return Int(tries)
    }

    private static func prepare() throws(FIDO2Error) {
        do { try SecureHeap.initialize() } catch { throw .crypto(error) }
    }
}
