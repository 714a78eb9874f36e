import ArgumentParser
import Crypto
import FIDO2
import Keybag
import Posix

/// Which security key to use, and the source of its PIN.
struct SecurityKeyOptions: ParsableArguments {
    @Option(
        name: .customLong("fido2-device"),
        help: ArgumentHelp(
            """
            The security key: its device, or socket:PATH for a remote or virtual one. May be repeated. (default: auto, \
            the keys that are plugged in)
            """,
            valueName: "path"),
        transform: textOnly)
    var devices: [String] = []

    @Option(
        name: .customLong("fido2-pin-file"),
        help: ArgumentHelp("Read the security key's PIN from this file.", valueName: "file"))
    var pinFile: Path?

    @Option(
        name: .customLong("fido2-pin-fd"),
        help: ArgumentHelp("Read the security key's PIN from this open file descriptor.", valueName: "number"))
    var pinDescriptor: Int32?

    func validate() throws {
        if pinFile != nil, pinDescriptor != nil {
            throw ValidationError("--fido2-pin-file and --fido2-pin-fd exclude each other.")
        }
        if let pinDescriptor, pinDescriptor < 0 {
            throw ValidationError("--fido2-pin-fd takes the number of an open descriptor, 0 or more.")
        }
    }

    var hasPIN: Bool { pinFile != nil || pinDescriptor != nil }

    /// Whether any of the options was given.
    var isGiven: Bool { !devices.isEmpty || hasPIN }

    /// The keys that the options or LATCHKEY_FIDO2_DEVICE name; nil for those that are plugged in.
    var named: [String]? {
        let names = devices.isEmpty ? [DeviceKeyFile.variable("LATCHKEY_FIDO2_DEVICE") ?? "auto"] : devices
        return names == ["auto"] ? nil : names
    }

    /// Asks for the PIN, or reads it.
    func readPIN() throws(CommandError) -> SecurityKeyPIN {
        let source: SecretSource =
            if let pinFile { .file(pinFile) } else if let pinDescriptor { .descriptor(pinDescriptor) } else {
                .standardInput
            }
        let typed: Secret
        do throws(CommandError) {
            typed = try source.read(SecretSource.Subject(name: "PIN", prompt: "PIN of the security key"))
        } catch {
            if error.code == .usage { throw error }
            throw CommandError(
                .failed, "the security key wants its PIN: \(error.message)", try: "the same with --fido2-pin-file FILE")
        }
        do throws(FIDO2Error) { return try SecurityKeyPIN(typed) } catch { throw CommandError(error) }
    }
}
