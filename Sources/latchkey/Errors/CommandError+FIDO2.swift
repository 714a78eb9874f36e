import FIDO2
import Posix

extension CommandError {
    /// Why a security key cannot be used.
    init(_ error: FIDO2Error, at path: String? = nil) {
        let device = path.map { " (\($0))" } ?? ""
        switch error {
        case .noLibrary:
            self.init(
                .failed, "libfido2, by which security keys are used, is not installed, or older than 1.12",
                try: "sudo apt install libfido2-1")
        case .noDevice:
            self.init(
                .failed, "the security key\(device) does not answer",
                try: "plug it in anew, then the same again", "ls -l /dev/hidraw*   (whether you may use it)")
        case .unfit:
            self.init(
                .failed, "the security key\(device) has no FIDO2 with hmac-secret, from which secrets are derived",
                try: "the same with another security key")
        case .unknownCredential:
            self.init(
                .wrongPasscode, "the security key\(device) does not know this vault; nothing was changed",
                try: "the same with another security key")
        case .pinRequired:
            self.init(
                .failed,
                "the security key\(device) does nothing without its PIN, and the vault's slot was made without one",
                try: "latchkey slot add fido2 VAULT   (with what else opens it; makes a slot that takes the PIN)")
        case .wrongPIN(let tries):
            let left = tries.map { ": it takes \($0) more, and then none until it is reset" } ?? ""
            self.init(
                .wrongPasscode, "the security key's PIN is wrong\(left); nothing was changed",
                try: "the same again with the right one")
        case .pinPaused:
            self.init(
                .wrongPasscode, "the security key's PIN was wrong too often in a row; nothing was changed",
                try: "take the security key out and plug it in, then the same again")
        case .pinBlocked:
            self.init(
                .wrongPasscode,
                "the security key's PIN was wrong too often: it takes none until it is reset, which destroys what "
                    + "opens the vault; nothing was changed",
                try: "the same with what else opens the vault")
        case .malformedPIN:
            self.init(
                .failed, "a security key's PIN has 4 to 63 bytes; this one was not tried",
                try: "the same again with the right one")
        case .notTouched:
            self.init(
                .failed, "the security key was not touched in time; nothing was changed",
                try: "the same again, and a touch when it blinks")
        case .denied:
            self.init(.failed, "the security key was told not to do it; nothing was changed", try: "the same again")
        case .crypto(let error): self.init(.failed, "\(error)")
        case .other(let code):
            let number = code < 0 ? "\(code)" : "0x" + String(code, radix: 16)
            self.init(
                .failed, "the security key\(device) refuses, with error \(number); nothing was changed",
                try: "the same with another security key")
        }
    }
}

/// Runs `body`; a security key's error becomes words.
func withSecurityKey<R: ~Copyable>(
    at path: String? = nil, _ body: () throws(FIDO2Error) -> R
) throws(CommandError) -> R {
    do { return try body() } catch { throw CommandError(error, at: path) }
}
