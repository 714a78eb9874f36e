internal import CFIDO2
public import Crypto

/// The errors of a security key and of the connection to it.
public enum FIDO2Error: Error, Hashable, Sendable {
    /// libfido2 is not installed, or older than 1.12.
    case noLibrary
    /// No key answers at the given path, or it no longer answers. A `SecurityKey` that threw this is unusable.
    case noDevice
    /// The key lacks FIDO2 or hmac-secret.
    case unfit
    /// The key does not know the credential.
    case unknownCredential
    case pinRequired
    /// The number of wrong PINs that the key still accepts, if it says so.
    case wrongPIN(triesLeft: Int?)
    /// After too many wrong PINs in a row, the key accepts none until it is plugged in again.
    case pinPaused
    /// After too many wrong PINs, the key accepts none until it is reset, which destroys all its credentials.
    case pinBlocked
    case notTouched
    case denied
    /// Not 4 to 63 bytes, or one of them is zero.
    case malformedPIN
    case crypto(CryptoError)
    /// Another error of the key (CTAP 2.1, 8.2) or of libfido2.
    case other(Int)
}

/// Turns the result of a call into a typed error.
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
