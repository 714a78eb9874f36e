import ArgumentParser

/// `latchkey device-key`: the key that stays on this machine.
struct DeviceKeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device-key",
        abstract: "Show how this machine keeps the device key of a vault, or change that.",
        discussion: """
            software  a file, no secret from a thief of the whole disk
            tpm2      sealed by the TPM 2.0 of this machine; the TPM also counts wrong passcodes, and refuses after \
            too many. LATCHKEY_TCTI names a TPM other than the usual one, in tpm2-tss's notation
            """,
        subcommands: [Show.self, Rebind.self, Export.self])
}
