internal import CCrypto

// Keys as text, as `openssl genpkey -algorithm X25519` and `openssl pkey -pubout` write them.
//
// Source: RFC 7468, RFC 8410.

extension X25519 {
    /// Why a private key cannot be read.
    public enum PEMFailure: Error, Hashable, Sendable {
        case notAKey
        /// It is encrypted, and the passphrase is missing or wrong.
        case passphrase
        case crypto(CryptoError)
    }

    /// The private key in PEM text: 32 bytes.
    ///
    /// - Parameter passphrase: empty if there is none.
    public static func privateKey(
        inPEM text: borrowing Secret, passphrase: borrowing Secret
    ) throws(PEMFailure) -> Secret {
        do {
            _ = try Library.loaded()
            let key = try Secret(count: 32)
            let given = unsafe passphrase.count > 0 ? UnsafeRawPointer(passphrase.start) : nil
            switch unsafe Int(
                lk_x25519_read_private(text.start, text.count, given, passphrase.count, key.mutableStart))
            {
            case LK_PEM_READ: return key
            case LK_PEM_PASSPHRASE: throw PEMFailure.passphrase
            default: throw PEMFailure.notAKey
            }
        } catch let error as CryptoError {
            throw .crypto(error)
        } catch let error as PEMFailure {
            throw error
        } catch {
            throw .notAKey
        }
    }

    /// The public key in PEM text: 32 bytes; nil if there is none.
    public static func publicKey(inPEM text: [UInt8]) -> [UInt8]? {
        guard (try? Library.loaded()) != nil else { return nil }
        var key = [UInt8](repeating: 0, count: 32)
        let result = unsafe lk_x25519_read_public(text, text.count, &key)
        return Int(result) == LK_PEM_READ ? key : nil
    }
}
