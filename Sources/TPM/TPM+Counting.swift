internal import CTPM
public import Crypto

// A counter lies in the TPM's own memory, where no copy of the disk brings an older value back. Its authorization value
// reads and increments it; the TPM's owner, who usually has no password, cannot do either, but can remove it. A value
// that was read is the TPM's own: an answer in its place would need the authorization value.
//
// Source: TCG TPM 2.0 part 1, section 37.2 (NV indices); part 3, TPM2_NV_DefineSpace, TPM2_NV_Increment.

extension TPM {
    /// A counter, by its index among those of the TPM, and what it showed.
    public struct Counter: Hashable, Sendable {
        public let index: UInt32
        public let value: UInt64
    }

    /// Makes a counter. It starts at any value, at least as high as each counter before it had.
    /// - Parameter auth: 32 bytes, with which it is used from then on.
    /// - Throws: `invalidInput`, `ownerPassword`, `noRoom`, `noStorageKey`, `noDevice`, `other`.
    public func makeCounter(auth: borrowing Secret) throws(TPMError) -> Counter {
        try Self.requireCounting(auth)
        return try auth.withBytes { auth throws(TPMError) in
            var index: UInt32 = 0
            var value: UInt64 = 0
            try check(
                unsafe auth.withUnsafeBytes { unsafe lk_tpm_counter_make(connection, Self.first($0), &index, &value) })
            return Counter(index: index, value: value)
        }
    }

    /// What a counter shows.
    /// - Throws: `noCounter`; `wrongAuthorization`, which is not counted; `invalidInput`, `noStorageKey`, `noDevice`,
    ///   `other`.
    public func value(ofCounter index: UInt32, auth: borrowing Secret) throws(TPMError) -> UInt64 {
        try increment(counter: index, by: 0, auth: auth)
    }

    /// Increments a counter step by step, each durable, and returns what it shows then. An error may come after some of
    /// the steps.
    /// - Throws: as `value(ofCounter:auth:)`.
    @discardableResult
    public func increment(counter index: UInt32, by steps: UInt32 = 1, auth: borrowing Secret) throws(TPMError)
        -> UInt64
    {
        try Self.requireCounting(auth)
        return try auth.withBytes { auth throws(TPMError) in
            var value: UInt64 = 0
            try check(
                unsafe auth.withUnsafeBytes {
                    unsafe lk_tpm_counter_increment(connection, index, Self.first($0), steps, &value)
                })
            return value
        }
    }

    /// Removes a counter.
    /// - Throws: as `value(ofCounter:auth:)`, and `ownerPassword`.
    public func removeCounter(_ index: UInt32, auth: borrowing Secret) throws(TPMError) {
        try Self.requireCounting(auth)
        try auth.withBytes { auth throws(TPMError) in
            try check(unsafe auth.withUnsafeBytes { unsafe lk_tpm_counter_remove(connection, index, Self.first($0)) })
        }
    }

    private static func requireCounting(_ auth: borrowing Secret) throws(TPMError) {
        try require(auth.count == maximumAuthorizationSize, "the authorization value of a counter has 32 bytes")
        try requireUseful(auth)
    }

    private static func first(_ bytes: UnsafeRawBufferPointer) -> UnsafePointer<UInt8>? {
        unsafe bytes.assumingMemoryBound(to: UInt8.self).baseAddress
    }
}
