import Posix

/// Why a control call failed: what the daemon answered, or what happened on the way.
public enum ControlError: Error, Hashable, Sendable {
    // io.latchkey
    /// How many wrong ones there may still be, where there is a limit.
    case wrongPasscode(Guesses? = nil)
    case wrongRecoveryKey
    /// A key file or a private key opens nothing.
    case wrongKey(SecretKind)
    /// There is no slot with this number.
    case noSuchSlot(Int)
    /// Nothing else would open the vault.
    case lastSlot
    /// A passcode has 1 to 1024 bytes; this one had so many.
    case passcodeLength(Int)
    /// So many seconds have to pass before the next passcode is tried.
    case tooManyGuesses(seconds: Int)
    /// No passcode is tried any more; the other ways in open the vault.
    case noMoreGuesses
    /// One more wrong passcode would erase the vault's keys, and the call does not say that it may: nothing was tried.
    case lastGuess(limit: Int)
    /// The vault's keys are destroyed, and the daemon ends. `remains` says what could not be; `limit` is there if it was this
    /// wrong passcode that was the last of so many.
    case erased(limit: Int? = nil, remains: String?)
    /// A new passcode that is found within a million guesses.
    case weakPasscode
    /// The administrator's policy forbids it.
    case forbidden(reason: String)
    /// The mount is in use.
    case busy
    /// The descriptor is of no file in this mount.
    case notInMount
    case damaged(reason: String)
    case tampered(reason: String)
    case failed(reason: String)

    // org.varlink.service
    case permissionDenied
    case interfaceNotFound(String)
    case methodNotFound(String)
    case methodNotImplemented(String)
    case invalidParameter(String)
    case expectedMore

    // On the way
    case io(Errno, doing: String)
    case timedOut
    /// The other side closed the connection before it answered.
    case disconnected
    /// The other side broke the protocol.
    case malformed(String)
    /// An error that this version does not know.
    case unknown(name: String)
    /// The socket directory belongs to someone else or is open to others.
    case unsafeDirectory(path: String)
    /// A daemon already serves this volume.
    case alreadyServed(socket: String)
}

/// What the parameters of any error may hold.
struct ErrorParameters: Codable {
    var reason: String?
    var bytes: Int?
    var interface: String?
    var method: String?
    var parameter: String?
    var kind: SecretKind?
    var slot: Int?
    var seconds: Int?
    var guesses: Guesses?
    var limit: Int?
}

extension ControlError {
    /// The error's name and parameters on the wire. What happened on the way has none and becomes `Failed`.
    var wire: (name: String, parameters: ErrorParameters) {
        switch self {
        case .wrongPasscode(let guesses): ("io.latchkey.WrongPasscode", ErrorParameters(guesses: guesses))
        case .wrongRecoveryKey: ("io.latchkey.WrongRecoveryKey", ErrorParameters())
        case .wrongKey(let kind): ("io.latchkey.WrongKey", ErrorParameters(kind: kind))
        case .noSuchSlot(let slot): ("io.latchkey.NoSuchSlot", ErrorParameters(slot: slot))
        case .lastSlot: ("io.latchkey.LastSlot", ErrorParameters())
        case .passcodeLength(let bytes): ("io.latchkey.PasscodeLength", ErrorParameters(bytes: bytes))
        case .tooManyGuesses(let seconds):
            ("io.latchkey.TooManyGuesses", ErrorParameters(seconds: seconds))
        case .noMoreGuesses: ("io.latchkey.NoMoreGuesses", ErrorParameters())
        case .lastGuess(let limit): ("io.latchkey.LastGuess", ErrorParameters(limit: limit))
        case .erased(let limit, let remains):
            ("io.latchkey.Erased", ErrorParameters(reason: remains, limit: limit))
        case .weakPasscode: ("io.latchkey.WeakPasscode", ErrorParameters())
        case .forbidden(let reason): ("io.latchkey.Forbidden", ErrorParameters(reason: reason))
        case .busy: ("io.latchkey.Busy", ErrorParameters())
        case .notInMount: ("io.latchkey.NotInMount", ErrorParameters())
        case .damaged(let reason): ("io.latchkey.Damaged", ErrorParameters(reason: reason))
        case .tampered(let reason): ("io.latchkey.Tampered", ErrorParameters(reason: reason))
        case .failed(let reason): ("io.latchkey.Failed", ErrorParameters(reason: reason))
        case .permissionDenied: ("org.varlink.service.PermissionDenied", ErrorParameters())
        case .interfaceNotFound(let name):
            ("org.varlink.service.InterfaceNotFound", ErrorParameters(interface: name))
        case .methodNotFound(let name): ("org.varlink.service.MethodNotFound", ErrorParameters(method: name))
        case .methodNotImplemented(let name):
            ("org.varlink.service.MethodNotImplemented", ErrorParameters(method: name))
        case .invalidParameter(let name): ("org.varlink.service.InvalidParameter", ErrorParameters(parameter: name))
        case .expectedMore: ("org.varlink.service.ExpectedMore", ErrorParameters())
        case .io(let errno, let doing): ("io.latchkey.Failed", ErrorParameters(reason: "\(doing): \(errno)"))
        case .timedOut, .disconnected, .malformed, .unknown, .unsafeDirectory, .alreadyServed:
            ("io.latchkey.Failed", ErrorParameters(reason: "\(self)"))
        }
    }

    init(name: String, parameters: ErrorParameters) {
        self =
            switch name {
            case "io.latchkey.WrongPasscode": .wrongPasscode(parameters.guesses)
            case "io.latchkey.WrongRecoveryKey": .wrongRecoveryKey
            case "io.latchkey.WrongKey": .wrongKey(parameters.kind ?? .keyFile)
            case "io.latchkey.NoSuchSlot": .noSuchSlot(parameters.slot ?? 0)
            case "io.latchkey.LastSlot": .lastSlot
            case "io.latchkey.PasscodeLength": .passcodeLength(parameters.bytes ?? 0)
            case "io.latchkey.TooManyGuesses": .tooManyGuesses(seconds: parameters.seconds ?? 0)
            case "io.latchkey.NoMoreGuesses": .noMoreGuesses
            case "io.latchkey.LastGuess": .lastGuess(limit: parameters.limit ?? 0)
            case "io.latchkey.Erased": .erased(limit: parameters.limit, remains: parameters.reason)
            case "io.latchkey.WeakPasscode": .weakPasscode
            case "io.latchkey.Forbidden": .forbidden(reason: parameters.reason ?? "")
            case "io.latchkey.Busy": .busy
            case "io.latchkey.NotInMount": .notInMount
            case "io.latchkey.Damaged": .damaged(reason: parameters.reason ?? "")
            case "io.latchkey.Tampered": .tampered(reason: parameters.reason ?? "")
            case "io.latchkey.Failed": .failed(reason: parameters.reason ?? "")
            case "org.varlink.service.PermissionDenied": .permissionDenied
            case "org.varlink.service.InterfaceNotFound": .interfaceNotFound(parameters.interface ?? "")
            case "org.varlink.service.MethodNotFound": .methodNotFound(parameters.method ?? "")
            case "org.varlink.service.MethodNotImplemented": .methodNotImplemented(parameters.method ?? "")
            case "org.varlink.service.InvalidParameter": .invalidParameter(parameters.parameter ?? "")
            case "org.varlink.service.ExpectedMore": .expectedMore
            default: .unknown(name: name)
            }
    }
}
