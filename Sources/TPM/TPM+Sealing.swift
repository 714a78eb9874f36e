internal import CTPM
public import Crypto

// The parent of the object is the storage root key of elliptic curve P-256 in the owner hierarchy: the one at
// 0x81000001 if it has the TCG's template, else one created from that template, which is the same each time until the
// TPM is cleared. Traffic with the TPM is encrypted under a secret that is agreed with that key. It is not verified
// that the key belongs to this TPM: an active attacker between processor and TPM who answers for it is not excluded.
//
// Source: TCG TPM 2.0 part 1, sections 19.6 (sessions), 21 (parameter encryption), 27.7 (sealed data).

extension TPM {
    /// The largest secret in bytes (MAX_SYM_DATA).
    public static let maximumSecretSize = Int(LK_TPM_SECRET_MAX)
    public static let maximumAuthorizationSize = Int(LK_TPM_AUTH_MAX)

    /// Seals a secret that only this TPM releases, and only while the PCRs have their present values.
    /// - Parameters:
    ///   - secret: 1 to 128 bytes; the caller keeps or wipes it.
    ///   - pcrs: those that must not change; with none, this machine suffices.
    /// - Throws: `invalidInput`, `noStorageKey`, `noDevice`, `other`.
    public func seal(_ secret: borrowing Secret, pcrs: PCRSelection = .none) throws(TPMError) -> SealedSecret {
        try secret.withBytes { bytes throws(TPMError) in
            try seal(bytes, nil, pcrs)
        }
    }

    /// Seals a secret that only this TPM releases, only for an authorization value, and only while the PCRs have their
    /// present values.
    ///
    /// The TPM counts wrong values, and after too many refuses all of them for a while.
    /// - Parameters:
    ///   - secret: 1 to 128 bytes; the caller keeps or wipes it.
    ///   - auth: 1 to 32 bytes. Trailing zeros do not count (part 1, 19.6.4.3), so one of zeros alone is none.
    /// - Throws: `invalidInput`, `noStorageKey`, `noDevice`, `other`.
    public func seal(
        _ secret: borrowing Secret, auth: borrowing Secret, pcrs: PCRSelection = .none
    ) throws(TPMError) -> SealedSecret {
        try Self.requireUseful(auth)
        return try secret.withBytes { bytes throws(TPMError) in
            try auth.withBytes { auth throws(TPMError) in
                try seal(bytes, auth, pcrs)
            }
        }
    }

    /// Releases a secret that was sealed without an authorization value.
    /// - Parameter pcrs: those that it was sealed with.
    /// - Throws: `wrongAuthorization` if it was sealed with one, which is not counted; `pcrsDiffer`; `foreign`;
    ///   `noStorageKey`, `noDevice`, `crypto`, `other`.
    public func unseal(_ sealed: SealedSecret, pcrs: PCRSelection = .none) throws(TPMError) -> Secret {
        try unseal(sealed, nil, pcrs)
    }

    /// Releases a secret that was sealed with an authorization value.
    /// - Throws: `wrongAuthorization`, which is counted; `lockedOut`, also for a right value; `pcrsDiffer`, which is
    ///   checked before the value; `foreign`; `invalidInput`, `noStorageKey`, `noDevice`, `crypto`, `other`.
    public func unseal(
        _ sealed: SealedSecret, auth: borrowing Secret, pcrs: PCRSelection = .none
    ) throws(TPMError) -> Secret {
        try Self.requireUseful(auth)
        return try auth.withBytes { auth throws(TPMError) in
            try unseal(sealed, auth, pcrs)
        }
    }
}

extension TPM {
    static func requireUseful(_ auth: borrowing Secret) throws(TPMError) {
        try require(1...maximumAuthorizationSize ~= auth.count, "an authorization value has 1 to 32 bytes")
        let bits = auth.withBytes { bytes in
            bytes.byteOffsets.reduce(UInt8(0)) { unsafe $0 | bytes.unsafeLoad(fromByteOffset: $1, as: UInt8.self) }
        }
        try require(bits != 0, "an authorization value of zeros is none")
    }

    private func seal(_ secret: RawSpan, _ auth: RawSpan?, _ pcrs: PCRSelection) throws(TPMError) -> SealedSecret {
        try require(1...Self.maximumSecretSize ~= secret.byteCount, "a secret to seal has 1 to 128 bytes")
        var sealed = lk_tpm_sealed()
        let result = unsafe withAccess(auth, pcrs) { access in
            unsafe secret.withUnsafeBytes {
                unsafe lk_tpm_seal(connection, $0.baseAddress, $0.count, access, &sealed)
            }
        }
        try check(result)
        return try SealedSecret(sealed)
    }

    private func unseal(_ sealed: SealedSecret, _ auth: RawSpan?, _ pcrs: PCRSelection) throws(TPMError) -> Secret {
        // The length of the secret is known only when it is released.
        var room = try Self.room()
        var count = 0
        var parts = sealed.parts
        try room.withMutableBytes { bytes throws(TPMError) in
            let result = unsafe bytes.withUnsafeMutableBytes { bytes in
                unsafe withAccess(auth, pcrs) { access in
                    unsafe lk_tpm_unseal(connection, &parts, access, bytes.baseAddress, &count)
                }
            }
            try check(result)
        }
        do {
            return try room.slice(0..<count)
        } catch {
            throw .crypto(error)
        }
    }

    private static func room() throws(TPMError) -> Secret {
        do {
            return try Secret(count: maximumSecretSize)
        } catch {
            throw .crypto(error)
        }
    }

    private func withAccess(
        _ auth: RawSpan?, _ pcrs: PCRSelection, _ body: (UnsafePointer<lk_tpm_access>) -> lk_tpm_result
    ) -> lk_tpm_result {
        var access = unsafe lk_tpm_access(auth: nil, auth_count: 0, pcrs: pcrs.mask)
        guard let auth else { return unsafe body(&access) }
        return unsafe auth.withUnsafeBytes { bytes in
            unsafe access.auth = bytes.baseAddress
            unsafe access.auth_count = bytes.count
            return unsafe body(&access)
        }
    }
}
