import ArgumentParser
import DeviceKeys
import TPM

/// How and where a device key is to be made: the path of a file, `tpm2`, or `tpm2:` and the path of a file.
struct DeviceKeyArgument: ExpressibleByArgument {
    let isSealed: Bool
    /// Nil for the default path.
    let path: String?

    init(argument: String) {
        isSealed = argument == "tpm2" || argument.hasPrefix("tpm2:")
        let path = isSealed ? String(argument.dropFirst("tpm2:".count)) : argument
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
