internal import CCrypto
import Synchronization

/// The arena of all secrets and of all OpenSSL allocations: locked in memory, between guard pages, excluded from core
/// files, wiped when freed.
public enum SecureHeap {
    /// Sets up the arena; later calls return the result of the first.
    ///
    /// This must happen before any other use of OpenSSL in the process, so call it early in `main`. The functions of
    /// this module that need it call it themselves.
    /// - Parameter size: bytes, a power of two. An idle OpenSSL takes a quarter of a MiB of it, a cipher 1 KiB, a key
    ///   32 bytes.
    /// - Throws: `secureMemory` with advice if the memory cannot be locked. Then no operation of this module works.
    public static func initialize(size: Int = 4 << 20) throws(CryptoError) {
        _ = try Library.loaded(heapSize: size)
    }

    /// Wipes all secrets of this process, also those in use; false if that failed. It may be called more than once.
    ///
    /// The process must end soon after this: a thread that uses wiped memory stops until then, with any locks that it
    /// holds.
    public static func wipeEverything() -> Bool {
        wiping.store(true, ordering: .sequentiallyConsistent)
        return lk_secure_wipe_everything() == 1
    }

    private static let wiping = Atomic(false)

    /// Whether the wiping of everything has begun.
    public static var isWiping: Bool { wiping.load(ordering: .sequentiallyConsistent) }

    /// Returns if what this thread computed until now was computed with whole keys. Otherwise the thread stops until
    /// the process ends.
    ///
    /// A key of zeros would encrypt so that anybody can decrypt it, and its MAC would make what is whole look damaged.
    static func stopAfterWipe() {
        if isWiping { lk_stand_still() }
    }

    /// Bytes of the arena in use.
    public static var used: Int { Int(CRYPTO_secure_used()) }
}

/// OpenSSL, set up once, with each algorithm fetched once: a fetch searches all providers under a lock.
@safe
struct Library: @unchecked Sendable {  // the pointers are to reference-counted, immutable method tables
    let gcm: OpaquePointer
    let ecb: OpaquePointer
    let cbc: OpaquePointer
    let ctr: OpaquePointer
    let wrap: OpaquePointer

    private static let state = Mutex<Result<Library, CryptoError>?>(nil)

    static func loaded(heapSize: Int = 4 << 20) throws(CryptoError) -> Library {
        let result = state.withLock { state in
            if let state { return state }
            let result = Result { () throws(CryptoError) in try Library(heapSize: heapSize) }
            state = result
            return result
        }
        return try result.get()
    }

    private init(heapSize: Int) throws(CryptoError) {
        switch lk_secure_heap_start(heapSize) {
        case Int32(LK_HEAP_LOCKED): break
        case Int32(LK_HEAP_TOO_LATE):
            throw .secureMemory("OpenSSL was used before its memory could be locked: set the heap up first")
        case Int32(LK_HEAP_UNPROTECTED):
            throw .secureMemory(
                "cannot lock \(heapSize >> 10) KiB of memory for keys: allow more with "
                    + "'ulimit -l \(2 * heapSize >> 10)', or LimitMEMLOCK= in a systemd unit, and start again")
        default:
            throw .secureMemory("cannot set up \(heapSize >> 10) KiB of memory for keys")
        }
        unsafe gcm = try Self.fetch("AES-256-GCM")
        unsafe ecb = try Self.fetch("AES-256-ECB")
        unsafe cbc = try Self.fetch("AES-256-CBC")
        unsafe ctr = try Self.fetch("AES-256-CTR")
        unsafe wrap = try Self.fetch("AES-256-WRAP")
    }

    private static func fetch(_ name: String) throws(CryptoError) -> OpaquePointer {
        guard let cipher = unsafe EVP_CIPHER_fetch(nil, name, nil) else {
            throw .fromOpenSSL("\(name) is not available")
        }
        return unsafe cipher
    }
}
