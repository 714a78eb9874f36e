import Control
import Keybag
import Posix

extension CommandError {
    /// What the daemon answered, or why it did not; `mountPoint` is for the advice.
    init(_ error: ControlError, at mountPoint: String = "DIR") {
        self.init(words: error, at: mountPoint)
        switch error {
        case .timedOut, .disconnected, .io, .malformed: self = inDoubt
        default: break
        }
    }

    private init(words error: ControlError, at mountPoint: String) {
        let place: Printable = mountPoint == "DIR" ? "DIR" : mountPoint.quoted
        switch error {
        case .wrongPasscode(let left):
            self.init(
                .wrongPasscode, Self.wrongPasscode(left.map { ($0.left, $0.limit) }, "nothing was changed"),
                try: "latchkey unlock \(place)",
                "latchkey unlock --recovery \(place)")
        case .wrongRecoveryKey:
            self.init(
                .wrongPasscode, "the recovery key is wrong; nothing was changed",
                try: "latchkey unlock --recovery \(place)")
        case .wrongKey(let kind):
            self.init(
                .wrongPasscode, "the \(kind.text) opens no slot of this vault; nothing was changed",
                try: "latchkey slot list \(place)")
        case .noSuchSlot(let slot):
            self.init(.failed, "there is no slot \(slot); nothing was changed", try: "latchkey slot list \(place)")
        case .lastSlot:
            self.init(
                .failed, "nothing else would open the vault: the slot stays", try: "latchkey slot add KIND \(place)")
        case .passcodeLength(let bytes):
            self.init(
                .failed,
                "a passcode has 1 to \(SecretReader.largest) bytes, this one has \(bytes); nothing was changed")
        case .tooManyGuesses(let seconds):
            self.init(tooManyGuesses: UInt64(max(seconds, 0)))
        case .lastGuess(let limit):
            self.init(lastTryOf: limit)
        case .erased(let limit, let remains):
            self.init(KeybagError.erased(limit: limit, remains: remains), of: "the vault")
        case .noMoreGuesses:
            self.init(KeybagError.noMoreGuesses, of: mountPoint)
        case .weakPasscode:
            self.init(KeybagError.weakPasscode, of: mountPoint)
        case .forbidden(let reason):
            self.init(.failed, "\(reason)", try: "latchkey policy check \(place)")
        case .busy:
            self.init(
                .failed, "\(mountPoint) is in use", try: "fuser -vm \(place)", "latchkey unmount --lazy \(place)")
        case .notInMount:
            self.init(.notFound, "not a file in a Latchkey mount", try: "latchkey status")
        case .damaged(let reason):
            self.init(.damaged, "the vault is damaged: \(reason)")
        case .tampered(let reason):
            self.init(.damaged, "someone without the keys has changed the vault: \(reason)")
        case .failed(let reason):
            self.init(.failed, "\(reason)")
        case .permissionDenied:
            self.init(
                .failed, "the daemon of \(mountPoint) takes orders only from the user who mounted it, and from root")
        case .io(let errno, let doing):
            self.init(.failed, "cannot \(doing): \(errno)")
        case .timedOut:
            self.init(.failed, "the daemon does not answer", try: "latchkey status", "kill -USR1 PID   (locks at once)")
        case .disconnected:
            self.init(.notFound, "the daemon has ended before it answered", try: "latchkey status")
        case .unsafeDirectory(let path):
            self.init(
                .failed, "the folder of the control sockets, \(path), belongs to someone else or is open to others",
                try: "ls -ld \(path.quoted)")
        case .alreadyServed:
            self.init(.failed, "the vault is mounted already", try: "latchkey status")
        case .interfaceNotFound, .methodNotFound, .methodNotImplemented, .invalidParameter, .expectedMore, .malformed,
            .unknown:
            self.init(
                .failed, "the daemon and this command do not understand each other: \(error)",
                try: "latchkey --version", "latchkey status")
        }
    }
}
