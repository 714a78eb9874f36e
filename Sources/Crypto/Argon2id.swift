internal import CCrypto

/// The cost of one derivation, and so of one guess at a passcode.
public struct Argon2Cost: Hashable, Sendable {
    public var memoryKiB: UInt32
    public var passes: UInt32
    /// Also the number of threads that compute them, if the system has that many.
    public var lanes: UInt32

    public init(memoryKiB: UInt32, passes: UInt32, lanes: UInt32) {
        self.memoryKiB = memoryKiB
        self.passes = passes
        self.lanes = lanes
    }
}

/// Argon2id, version 0x13 (RFC 9106): a key from a passcode, slowly.
public enum Argon2id {
    /// - Parameters:
    ///   - salt: at least 8 bytes. Here it is keyed by the device key, hence secret.
    ///   - cost: at least 8 KiB of memory for each lane. Sensible bounds are the caller's task.
    ///   - secret: RFC 9106's K, rarely used.
    ///   - associatedData: RFC 9106's X, rarely used.
    ///   - count: bytes of the result, at least 4.
    /// - Throws: `library` if the memory cannot be allocated.
    public static func derive(
        _ passcode: borrowing Secret, salt: borrowing Secret, cost: Argon2Cost, count: Int
    ) throws(CryptoError) -> Secret {
        try salt.withBytes { (salt) throws(CryptoError) in
            try derive(passcode, salt: salt, cost: cost, count: count)
        }
    }

    /// As above, with a salt that is not secret, and Argon2's two further inputs.
    public static func derive(
        _ passcode: borrowing Secret, salt: RawSpan, secret: RawSpan = RawSpan(), associatedData: RawSpan = RawSpan(),
        cost: Argon2Cost, count: Int
    ) throws(CryptoError) -> Secret {
        let derived = try Secret(count: count)
        let result = unsafe lk_argon2id(
            passcode.start, passcode.count, salt.start, salt.byteCount, secret.start, secret.byteCount,
            associatedData.start, associatedData.byteCount, cost.memoryKiB, cost.passes, cost.lanes,
            derived.mutableStart, count)
        guard result == 0 else { throw .library("Argon2id: \(unsafe String(cString: lk_argon2_message(result)))") }
        return derived
    }
}
