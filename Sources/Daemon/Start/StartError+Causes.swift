import Control
import Crypto
import Keybag
import Posix

extension StartError {
    init(because error: KeybagError) {
        self =
            switch error {
            case .wrong(.passcode, let left): StartError(.wrongPasscode, guesses: left.map { Guesses($0) })
            case .lastGuess(let limit): StartError(.lastGuess, "\(limit)")
            case .wrong(.recoveryKey, _), .malformedRecoveryKey: StartError(.wrongRecoveryKey)
            case .wrong(let kind, _): StartError(.wrongKey, kind.rawValue)
            case .tooManyGuesses(let seconds): StartError(.tooManyGuesses, "\(seconds)")
            case .noMoreGuesses: StartError(.noMoreGuesses)
            case .erased(let limit, let remains):
                StartError(.erased, remains ?? "", guesses: limit.map { Guesses(left: 0, limit: $0) })
            case .notAKeyFile: StartError(.wrongKey, Credential.Kind.keyFile.rawValue)
            case .passcodeLength(let bytes): StartError(.passcodeLength, "\(bytes)")
            case .notAVault: StartError(.notAVault)
            case .foreignVersion(let version): StartError(.foreignVersion, "\(version)")
            case .foreignFeature: StartError(.foreignVersion, "it uses a feature that this version does not know")
            case .damaged(let reason): StartError(.damaged, reason)
            case .tampered(let reason): StartError(.tampered, reason)
            case .deviceKeyMissing(let path): StartError(.deviceKeyMissing, path)
            case .notADeviceKey(let path): StartError(.notADeviceKey, path)
            case .deviceKeyMismatch: StartError(.deviceKeyMismatch)
            case .io(let errno, let doing): StartError(.failed, "\(doing): \(errno)")
            case .crypto(let error): StartError(.failed, "\(error)")
            case .hardware(let reason): StartError(.failed, reason)
            case .passcodesNeedTPM: StartError(.failed, error.rule ?? "")
            case .notABackup, .damagedBackup, .onePasscodeOnly, .hasNoPasscode, .wrongPassphrase, .otherKeys,
                .alreadyAVault, .cost, .notAPublicKey, .noSuchSlot,
                .lastSlot, .changedMeanwhile,
                .weakPasscode, .otherProof:
                StartError(.failed, "\(error)")
            }
    }

    init(because error: ControlError) {
        self =
            switch error {
            case .wrongPasscode(let guesses): StartError(.wrongPasscode, guesses: guesses)
            case .lastGuess(let limit): StartError(.lastGuess, "\(limit)")
            case .wrongRecoveryKey: StartError(.wrongRecoveryKey)
            case .wrongKey(let kind): StartError(.wrongKey, kind.rawValue)
            case .tooManyGuesses(let seconds): StartError(.tooManyGuesses, "\(seconds)")
            case .noMoreGuesses: StartError(.noMoreGuesses)
            case .erased(let limit, let remains):
                StartError(.erased, remains ?? "", guesses: limit.map { Guesses(left: 0, limit: $0) })
            case .passcodeLength(let bytes): StartError(.passcodeLength, "\(bytes)")
            case .damaged(let reason): StartError(.damaged, reason)
            case .tampered(let reason): StartError(.tampered, reason)
            case .failed(let reason): StartError(.failed, reason)
            case .forbidden(let reason): StartError(.forbidden, reason)
            case .alreadyServed(let socket): StartError(.volumeServed, socket)
            case .io(let errno, let doing): StartError(.failed, "\(doing): \(errno)")
            case .unsafeDirectory(let path):
                StartError(.failed, "\(path) belongs to someone else or is open to others")
            default: StartError(.failed, "\(error)")
            }
    }

    /// Runs `body`, which makes threads and nothing else that can fail.
    static func makingThreads<Result: ~Copyable>(_ body: () throws(Errno) -> Result) throws(StartError) -> Result {
        do { return try body() } catch {
            throw StartError(.failed, "cannot make a thread: \(error) (ulimit -u, or pids.max of the control group)")
        }
    }

    /// Runs `body` with its errors turned into a start error.
    static func when<Result: ~Copyable>(
        _ doing: @autoclosure () -> String, _ body: () throws(Errno) -> Result
    ) throws(StartError) -> Result {
        do { return try body() } catch { throw StartError(.failed, "\(doing()): \(error)") }
    }
}
