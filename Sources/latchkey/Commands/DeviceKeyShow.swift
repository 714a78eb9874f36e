import Administration
import ArgumentParser
import DeviceKeys
import Posix

extension DeviceKeyCommand {
    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show where the device key of a vault is, and whether this machine has it.",
            discussion: "The exit code is 1 if it is not there, or the TPM does not release it.")

        @Option(help: ArgumentHelp("Path of the device key.", valueName: "path"))
        var deviceKey: DeviceKeyArgument?

        @Argument(help: ArgumentHelp("The vault, or its mount.", valueName: "vault"))
        var vault: String

        func run() throws {
            let kept = try KeptDeviceKey.of(vault, at: deviceKey?.path)
            var table = Table()
            table.add("kept", "\(kept.kind.text)")
            table.add("file", "\(kept.path)")
            table.add("volume", "\(kept.volume)")
            if let exposure = DeviceKeyExposure(of: kept.path, inVault: kept.vault.text) {
                table.add("warning", ["\(exposure.reason)", "try: \(exposure.advice)"])
            }
            do throws(CommandError) {
                _ = try kept.loaded()
                table.add("released", "yes")
                if !kept.isBound {
                    table.add(
                        "unfinished",
                        "a passcode slot does not match this kind of key: "
                            + "latchkey device-key rebind \(kept.kind.name) \(vault.quoted)")
                }
            } catch {
                table.add("released", "no: \(error.message)")
                Standard.output(table.lines())
                throw Ended(code: error.code)
            }
            Standard.output(table.lines())
        }
    }
}
