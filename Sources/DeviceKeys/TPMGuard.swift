import Crypto
import Failure
import Keybag
import TPM

/// The TPM of this machine, which releases a part of each passcode key, and counts wrong passcodes.
///
/// A connection for each call: without a resource manager nobody else could use the TPM meanwhile.
struct TPMGuard: PasscodeGuard {
    func seal(_ secret: borrowing Secret, authorization: borrowing Secret) throws(Failure) -> [UInt8] {
        do throws(TPMError) { return try TPM.ofThisMachine().seal(secret, auth: authorization).encoded } catch {
            throw Failure(error)
        }
    }

    func unseal(_ sealed: [UInt8], authorization: borrowing Secret) throws(Failure) -> Secret? {
        do throws(TPMError) {
            let blob = try SealedSecret(decoding: sealed)
            return try TPM.ofThisMachine().unseal(blob, auth: authorization)
        } catch .wrongAuthorization {
            return nil
        } catch .lockedOut {
            throw .tooManyGuesses(seconds: Int(clamping: Self.recovery))
        } catch { throw Failure(error) }
    }

    /// Seconds until the TPM forgets one wrong passcode.
    private static var recovery: UInt64 {
        let seconds = try? TPM.ofThisMachine().lockout.recoverySeconds
        return UInt64(max(seconds ?? 0, 1))
    }
}

extension TPM {
    /// By the way that LATCHKEY_TCTI names, in tpm2-tss's notation, else the first that there is.
    static func ofThisMachine() throws(TPMError) -> TPM { try TPM(tcti: DeviceKeyFile.variable("LATCHKEY_TCTI")) }
}

extension Failure {
    init(_ error: TPMError) {
        self =
            switch error {
            case .crypto(let error): .crypto(error)
            case .pcrsDiffer: .otherPCRs
            case .foreign: .otherTPM
            default: .hardware(reason: "\(error)")
            }
    }
}
