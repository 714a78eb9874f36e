internal import CFIDO2
public import Crypto

/// What a security key, or the way to it, can fail with.
public enum FIDO2Error: Error, Hashable, Sendable {
    /// libfido2 is not installed, or older than 1.12.
    case noLibrary
    /// Nothing answers where it was looked for, or it no longer does. A `SecurityKey` that threw this is of no more use.
    case noDevice
    /// It has no FIDO2, or no hmac-secret.
    case unfit
    /// It does not know the credential.
    case unknownCredential
    case pinRequired
    /// So many more wrong ones are taken, if the key tells.
    case wrongPIN(triesLeft: Int?)
    /// After too many wrong ones in a row it takes none until it has been plugged in anew.
    case pinPaused
    /// After too many wrong ones it takes none until it is reset, which destroys what it knows.
    case pinBlocked
    case notTouched
    case denied
    /// Not 4 to 63 bytes, or with a zero among them.
    case malformedPIN
    case crypto(CryptoError)
    /// Another error of the key (CTAP 2.1, 8.2) or of libfido2.
    case other(Int)
}

/// Turns what came of a call into a typed error.
func check(_ result: lk_fido2_result) throws(FIDO2Error) {
    switch Int(result.kind) {
    case Int(LK_FIDO2_DONE): return
    case Int(LK_FIDO2_NO_LIBRARY): throw .noLibrary
    case Int(LK_FIDO2_NO_DEVICE): throw .noDevice
    case Int(LK_FIDO2_UNFIT): throw .unfit
    case Int(LK_FIDO2_UNKNOWN): throw .unknownCredential
    case Int(LK_FIDO2_PIN_REQUIRED): throw .pinRequired
    case Int(LK_FIDO2_PIN_WRONG): throw .wrongPIN(triesLeft: nil)
    case Int(LK_FIDO2_PIN_PAUSED): throw .pinPaused
    case Int(LK_FIDO2_PIN_BLOCKED): throw .pinBlocked
    case Int(LK_FIDO2_NOT_TOUCHED): throw .notTouched
    case Int(LK_FIDO2_DENIED): throw .denied
    default: throw .other(Int(result.code))
    }
}
