internal import CTPM
public import Crypto

/// The errors of a TPM and of the connection to it.
public enum TPMError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The program was built without tpm2-tss, or libtss2-esys or libtss2-tctildr is not installed.
    case noLibrary
    /// There is no TPM at the given location, or it no longer answers. A `TPM` that threw this is unusable.
    case noDevice
    /// The authorization value is wrong or missing, or there should be none. A wrong one is counted.
    case wrongAuthorization
    /// After too many wrong values, the TPM refuses right ones too. `TPM.lockout` says for how long.
    case lockedOut
    /// The PCRs differ from those at the sealing, or other PCRs were chosen.
    case pcrsDiffer
    /// Sealed by another TPM, or by this one before it was cleared, or damaged.
    case foreign
    /// The owner hierarchy has a password, and there is no storage root key at 0x81000001 that needs none.
    case noStorageKey
    /// At the index is no counter, or another one than this program makes: it was removed, or the TPM was cleared.
    case noCounter
    /// The TPM has no memory for another counter.
    case noRoom
    /// The owner hierarchy has a password, without which no counter is made or removed.
    case ownerPassword
    /// A sealed secret cannot be decoded.
    case malformed
    /// The caller passed sizes that the TPM does not accept.
    case invalidInput(String)
    case crypto(CryptoError)
    /// Another response code of the TPM or of tpm2-tss: `tpm2_rc_decode` explains it.
    case other(UInt32)

    public var description: String {
        switch self {
        case .noLibrary: "the TPM libraries (tpm2-tss) are missing"
        case .noDevice: "no TPM answers"
        case .wrongAuthorization: "wrong authorization value"
        case .lockedOut: "the TPM is locked out after too many wrong authorization values"
        case .pcrsDiffer: "the PCRs differ from those at the sealing"
        case .foreign: "sealed by another TPM, or damaged"
        case .noStorageKey: "the TPM's owner hierarchy has a password, and no storage root key is persistent"
        case .noCounter: "the TPM has no such counter"
        case .noRoom: "the TPM has no room for another counter"
        case .ownerPassword: "the TPM's owner hierarchy has a password"
        case .malformed: "not a sealed secret"
        case .invalidInput(let text): "invalid input: \(text)"
        case .crypto(let error): error.description
        case .other(let code): "TPM response code 0x" + String(code, radix: 16)
        }
    }
}

/// Turns the result of a call into a typed error.
func check(_ result: lk_tpm_result) throws(TPMError) {
    switch Int(result.kind) {
    case Int(LK_TPM_DONE): return
    case Int(LK_TPM_NO_LIBRARY): throw .noLibrary
    case Int(LK_TPM_NO_DEVICE): throw .noDevice
    case Int(LK_TPM_WRONG_AUTH): throw .wrongAuthorization
    case Int(LK_TPM_LOCKED_OUT): throw .lockedOut
    case Int(LK_TPM_PCRS_DIFFER): throw .pcrsDiffer
    case Int(LK_TPM_FOREIGN): throw .foreign
    case Int(LK_TPM_NO_STORAGE_KEY): throw .noStorageKey
    case Int(LK_TPM_NO_COUNTER): throw .noCounter
    case Int(LK_TPM_NO_ROOM): throw .noRoom
    case Int(LK_TPM_OWNER_PASSWORD): throw .ownerPassword
    default: throw .other(result.code)
    }
}

/// Checks the caller's input.
func require(_ condition: Bool, _ text: @autoclosure () -> String) throws(TPMError) {
    guard condition else { throw .invalidInput(text()) }
}
