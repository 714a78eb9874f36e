internal import CCrypto

/// The kernel's random generator, for values that are not secret: nonces, identifiers, salts. For keys use
/// `Secret(random:)`.
public enum Random {
    public static func bytes(_ count: Int) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            unsafe lk_random(buffer.baseAddress, count)
            filled = count
        }
    }

    public static func fill(_ bytes: inout MutableRawSpan) {
        unsafe lk_random(bytes.start, bytes.byteCount)
    }
}
