internal import CCrypto
import Synchronization

/// AES-256-SIV (RFC 5297): the same input and key give the same output, and nothing else is given away. For names.
///
/// The output is the 16-byte tag, then as many bytes as went in. Each piece of associated data is a component of its
/// own, so that "ab", "c" and "a", "bc" differ. Any number of threads at once.
public final class DeterministicCipher: Sendable {
    public static let tagSize = 16

    private let key: Secret
    private let idle = Mutex<[SIVContext]>([])

    /// - Parameter key: 64 bytes: 32 for S2V, 32 for CTR.
    public init(key: consuming Secret) throws(CryptoError) {
        try require(key.count == 64, "a key of AES-256-SIV has 64 bytes")
        self.key = key
        // Fails here, where there is someone to tell, rather than at the first name.
        giveBack(try SIVContext())
    }

    // MARK: - One, two or three components of associated data

    /// - Parameter plain: at least 1 byte.
    public func seal(_ plain: RawSpan, associatedData a: RawSpan) throws(CryptoError) -> [UInt8] {
        try withContext { (context) throws(CryptoError) in
            try context.start(key, .seal)
            try context.add(a)
            return try context.seal(plain)
        }
    }

    public func seal(_ plain: RawSpan, associatedData a: RawSpan, _ b: RawSpan) throws(CryptoError) -> [UInt8] {
        try withContext { (context) throws(CryptoError) in
            try context.start(key, .seal)
            try context.add(a)
            try context.add(b)
            return try context.seal(plain)
        }
    }

    public func seal(
        _ plain: RawSpan, associatedData a: RawSpan, _ b: RawSpan, _ c: RawSpan
    ) throws(CryptoError) -> [UInt8] {
        try withContext { (context) throws(CryptoError) in
            try context.start(key, .seal)
            try context.add(a)
            try context.add(b)
            try context.add(c)
            return try context.seal(plain)
        }
    }

    /// - Throws: `notAuthentic` if any byte of key, associated data or ciphertext is not what was sealed.
    public func open(_ sealed: RawSpan, associatedData a: RawSpan) throws(CryptoError) -> [UInt8] {
        try withContext { (context) throws(CryptoError) in
            try context.start(key, .open)
            try context.add(a)
            return try context.open(sealed)
        }
    }

    public func open(_ sealed: RawSpan, associatedData a: RawSpan, _ b: RawSpan) throws(CryptoError) -> [UInt8] {
        try withContext { (context) throws(CryptoError) in
            try context.start(key, .open)
            try context.add(a)
            try context.add(b)
            return try context.open(sealed)
        }
    }

    public func open(
        _ sealed: RawSpan, associatedData a: RawSpan, _ b: RawSpan, _ c: RawSpan
    ) throws(CryptoError) -> [UInt8] {
        try withContext { (context) throws(CryptoError) in
            try context.start(key, .open)
            try context.add(a)
            try context.add(b)
            try context.add(c)
            return try context.open(sealed)
        }
    }

    // MARK: - Contexts

    private func withContext(
        _ body: (SIVContext) throws(CryptoError) -> [UInt8]
    ) throws(CryptoError) -> [UInt8] {
        let context = if let context = idle.withLock({ $0.popLast() }) { context } else { try SIVContext() }
        defer { giveBack(context) }
        return try body(context)
    }

    private func giveBack(_ context: SIVContext) {
        idle.withLock { $0.append(context) }
    }
}

/// One OpenSSL context; whoever took it from the pool uses it alone.
///
/// A context of OpenSSL 3.0's AES-SIV that is used again without its key being set again answers 0 to Update and then
/// 1 to Final, with the tag of the message before. So the key is set each time and every return is looked at.
@safe
private final class SIVContext: @unchecked Sendable {
    private let context: OpaquePointer
    private let cipher: OpaquePointer

    init() throws(CryptoError) {
        unsafe cipher = try Library.loaded().siv
        guard let context = unsafe EVP_CIPHER_CTX_new() else { throw .heapFull }
        unsafe self.context = context
    }

    deinit { unsafe EVP_CIPHER_CTX_free(context) }

    func start(_ key: borrowing Secret, _ direction: Direction) throws(CryptoError) {
        let sealing: Int32 = direction == .seal ? 1 : 0
        try check(unsafe EVP_CipherInit_ex2(context, cipher, key.start, nil, sealing, nil), "AES-256-SIV key")
    }

    /// One component of associated data.
    func add(_ component: RawSpan) throws(CryptoError) {
        // OpenSSL 3.0 ignores an empty component, which RFC 5297 does not.
        try require(component.byteCount > 0, "an empty component of associated data")
        try unsafe update(component.start, component.byteCount, into: nil)
    }

    func seal(_ plain: RawSpan) throws(CryptoError) -> [UInt8] {
        try require(plain.byteCount > 0, "AES-256-SIV of nothing")
        var output = [UInt8](repeating: 0, count: DeterministicCipher.tagSize + plain.byteCount)
        var span = output.mutableSpan
        var bytes = unsafe span.mutableBytes
        let out = unsafe bytes.start
        try unsafe update(plain.start, plain.byteCount, into: out + DeterministicCipher.tagSize)
        try finish()
        try check(
            unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(DeterministicCipher.tagSize), out),
            "AES-256-SIV tag")
        return output
    }

    func open(_ sealed: RawSpan) throws(CryptoError) -> [UInt8] {
        let count = sealed.byteCount - DeterministicCipher.tagSize
        guard count > 0 else { throw .notAuthentic }
        let input = unsafe sealed.start
        // OpenSSL takes the expected tag through a pointer that it does not write to.
        let tag = unsafe UnsafeMutablePointer(mutating: input)
        try check(
            unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(DeterministicCipher.tagSize), tag),
            "AES-256-SIV tag")
        var output = [UInt8](repeating: 0, count: count)
        var span = output.mutableSpan
        var bytes = unsafe span.mutableBytes
        let out = unsafe bytes.start
        do throws(CryptoError) {
            // SIV decrypts first and verifies what came out: a false tag shows in Update already.
            try unsafe update(input + DeterministicCipher.tagSize, count, into: out)
            try finish()
        } catch {
            unsafe OPENSSL_cleanse(out, count)
            throw .notAuthentic
        }
        return output
    }

    private func update(
        _ input: UnsafePointer<UInt8>, _ count: Int, into output: UnsafeMutablePointer<UInt8>?
    ) throws(CryptoError) {
        guard let size = Int32(exactly: count) else { throw .invalidInput("AES-256-SIV of more than 2 GiB") }
        var done: Int32 = 0
        try check(unsafe EVP_CipherUpdate(context, output, &done, input, size), "AES-256-SIV")
    }

    private func finish() throws(CryptoError) {
        var none: Int32 = 0
        var nowhere: (UInt64, UInt64) = (0, 0)
        let result = unsafe withUnsafeMutableBytes(of: &nowhere) { nowhere in
            unsafe EVP_CipherFinal_ex(context, nowhere.baseAddress?.assumingMemoryBound(to: UInt8.self), &none)
        }
        try check(result, "AES-256-SIV")
    }
}
