internal import CCrypto
import Synchronization

/// AES-256-SIV (RFC 5297): equal inputs and keys give equal outputs, and the output reveals nothing else. For names.
///
/// The output is the 16-byte tag, then as many bytes as the input has. Each piece of associated data is a separate
/// component, so that "ab", "c" and "a", "bc" differ. Thread-safe.
public final class DeterministicCipher: Sendable {
    public static let tagSize = 16

    private let key: Secret
    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let idle = Mutex<[SIVContext]>([])

    /// - Parameter key: 64 bytes: 32 for S2V, 32 for CTR.
    public init(key: consuming Secret) throws(CryptoError) {
        try require(key.count == 64, "a key of AES-256-SIV has 64 bytes")
        self.key = key
        // Made now, so that lack of memory is an error here and not at the first name.
        giveBack(try SIVContext(key: self.key))
    }

    // MARK: - One, two or three components of associated data

    public func seal(_ plain: RawSpan, associatedData a: RawSpan) throws(CryptoError) -> [UInt8] {
        try unsafe seal(plain, [lk_bytes(a)])
    }

    public func seal(_ plain: RawSpan, associatedData a: RawSpan, _ b: RawSpan) throws(CryptoError) -> [UInt8] {
        try unsafe seal(plain, [lk_bytes(a), lk_bytes(b)])
    }

    public func seal(
        _ plain: RawSpan, associatedData a: RawSpan, _ b: RawSpan, _ c: RawSpan
    ) throws(CryptoError) -> [UInt8] {
        try unsafe seal(plain, [lk_bytes(a), lk_bytes(b), lk_bytes(c)])
    }

    /// - Throws: `notAuthentic` if any byte of key, associated data or ciphertext differs from what was sealed.
    public func open(_ sealed: RawSpan, associatedData a: RawSpan) throws(CryptoError) -> [UInt8] {
        try unsafe open(sealed, [lk_bytes(a)])
    }

    public func open(_ sealed: RawSpan, associatedData a: RawSpan, _ b: RawSpan) throws(CryptoError) -> [UInt8] {
        try unsafe open(sealed, [lk_bytes(a), lk_bytes(b)])
    }

    public func open(
        _ sealed: RawSpan, associatedData a: RawSpan, _ b: RawSpan, _ c: RawSpan
    ) throws(CryptoError) -> [UInt8] {
        try unsafe open(sealed, [lk_bytes(a), lk_bytes(b), lk_bytes(c)])
    }

    /// The plaintext if the associated data were right: a guess, which the caller must verify by other means.
    ///
    /// For the recovery of a damaged vault.
    public func guess(_ sealed: RawSpan) throws(CryptoError) -> [UInt8] {
        let count = sealed.byteCount - Self.tagSize
        guard count >= 0 else { throw .notAuthentic }
        try require(count <= Int32.max, "AES-256-SIV of more than 2 GiB")
        var output = [UInt8](repeating: 0, count: count)
        let result = try unsafe withContext { context in
            unsafe lk_siv_guess(context, sealed.start, count, &output)
        }
        try check(result, "AES-256-SIV")
        return output
    }

    // The spans behind `data` outlive these calls.

    private func seal(_ plain: RawSpan, _ data: [lk_bytes]) throws(CryptoError) -> [UInt8] {
        try require(plain.byteCount <= Int32.max, "AES-256-SIV of more than 2 GiB")
        var output = [UInt8](repeating: 0, count: Self.tagSize + plain.byteCount)
        let result = try unsafe withContext { context in
            unsafe lk_siv_seal(context, data, data.count, plain.start, plain.byteCount, &output)
        }
        try check(result, "AES-256-SIV")
        return output
    }

    private func open(_ sealed: RawSpan, _ data: [lk_bytes]) throws(CryptoError) -> [UInt8] {
        let count = sealed.byteCount - Self.tagSize
        guard count >= 0 else { throw .notAuthentic }
        try require(count <= Int32.max, "AES-256-SIV of more than 2 GiB")
        var output = [UInt8](repeating: 0, count: count)
        let result = try unsafe withContext { context in
            unsafe lk_siv_open(context, data, data.count, sealed.start, count, &output)
        }
        guard result != -1 else { throw .notAuthentic }
        try check(result, "AES-256-SIV")
        return output
    }

    // MARK: - Contexts

    /// Lends a context for exclusive use. There are as many contexts as there were threads here at once.
    private func withContext(_ body: (OpaquePointer) -> Int32) throws(CryptoError) -> Int32 {
        let context = if let context = idle.withLock({ $0.popLast() }) { context } else { try SIVContext(key: key) }
        defer { giveBack(context) }
        let result = unsafe body(context.pointer)
        SecureHeap.stopAfterWipe()
        return result
    }

    private func giveBack(_ context: SIVContext) {
        idle.withLock { $0.append(context) }
    }
}

@safe
private final class SIVContext: @unchecked Sendable {  // the pool lends it to one thread at a time
    let pointer: OpaquePointer

    init(key: borrowing Secret) throws(CryptoError) {
        let library = try Library.loaded()
        guard let pointer = unsafe lk_siv_new(library.cbc, library.ctr, key.start) else { throw .heapFull }
        unsafe self.pointer = pointer
    }

    deinit { unsafe lk_siv_free(pointer) }
}

extension lk_bytes {
    fileprivate init(_ span: RawSpan) {
        unsafe self.init(start: span.start, count: span.byteCount)
    }
}
