import ArgumentParser
import DeviceKeys
import Posix
import TPM

/// How and where a device key is to be made: the path of a file, `tpm2`, or `tpm2:` and the path of a file.
struct DeviceKeyArgument: ExpressibleByArgument {
    let isSealed: Bool
    /// Nil for the default path.
    let path: Path?

    init(argument: String) { self.init(Path(argument: argument)) }

    /// - Parameter text: as the configuration has it.
    init(_ text: String) { self.init(Path(text)) }

    private init(_ typed: Path) {
        isSealed = typed == "tpm2" || typed.hasPrefix("tpm2:")
        let path = isSealed ? Path(bytes: typed.bytes.dropFirst("tpm2:".utf8.count)) : typed
        self.path = path.isEmpty ? nil : path
    }

    /// For a vault that may have a device key already: nil if the argument does not say how it is to be kept.
    static func wanted(_ argument: Self?) -> DeviceKeyKind? { argument?.isSealed == true ? .tpm2(.none) : nil }

    static func kind(_ argument: Self?, _ pcrs: PCRSelection = .none) -> DeviceKeyKind {
        argument?.isSealed == true ? .tpm2(pcrs) : .software
    }
}

extension PCRSelection: ExpressibleByArgument {
    /// "0,2,7", or "none". Empty text is refused.
    public init?(argument: String) {
        if argument == "none" {
            self = .none
            return
        }
        self.init(argument)
        if isEmpty { return nil }
    }
}

/// The PCRs of a TPM to which the key is bound.
struct PCROptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            With a TPM: release the device key only while these registers (SHA-256, 0 to 23) keep their present \
            values; or none.
            """,
            valueName: "0,2,7"))
    var pcrs: PCRSelection?
}
