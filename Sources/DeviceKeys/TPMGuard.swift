import Crypto
import Failure
import Keybag
import TPM

/// The TPM of this machine, which releases a part of each passcode key, and counts wrong passcodes.
///
/// Each call makes a connection: without a resource manager, an open one would lock out all other programs.
struct TPMGuard: PasscodeGuard {
    var tcti = DeviceKeyLocation.tcti

    func seal(_ secret: borrowing Secret, authorization: borrowing Secret) throws(Failure) -> [UInt8] {
        do throws(TPMError) { return try TPM(tcti: tcti).seal(secret, auth: authorization).encoded } catch {
            throw Failure(error)
        }
    }

    func unseal(_ sealed: [UInt8], authorization: borrowing Secret) throws(Failure) -> Secret? {
        do throws(TPMError) {
            let blob = try SealedSecret(decoding: sealed)
            return try TPM(tcti: tcti).unseal(blob, auth: authorization)
        } catch .wrongAuthorization {
            return nil
        } catch .lockedOut {
            throw .tooManyGuesses(seconds: Int(clamping: recovery))
        } catch { throw Failure(error) }
    }

    /// Seconds until the TPM forgets one wrong passcode.
    private var recovery: UInt64 {
        let seconds = try? TPM(tcti: tcti).lockout.recoverySeconds
        return UInt64(max(seconds ?? 0, 1))
    }
}

extension TPM {
    /// Connects as LATCHKEY_TCTI says, in tpm2-tss's notation, or else by the first way that works.
    static func ofThisMachine() throws(TPMError) -> TPM { try TPM(tcti: DeviceKeyLocation.tcti) }
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
