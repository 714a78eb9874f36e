import ArgumentParser

/// `latchkey device-key`: the key that stays on this machine.
struct DeviceKeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device-key",
        abstract: "Show how this machine keeps the device key of a vault, and keep it otherwise.",
        discussion: """
            software  a file, no secret from a thief of the whole disk
            tpm2      sealed by the TPM 2.0 of this machine, which also counts wrong passcodes, and refuses after too many; \
            LATCHKEY_TCTI names the way to it in tpm2-tss's notation, where it is not the usual one
            """,
        subcommands: [Show.self, Rebind.self, Export.self])
}
