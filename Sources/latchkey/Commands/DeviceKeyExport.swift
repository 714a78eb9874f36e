import Administration
import ArgumentParser
import DeviceKeys
import Failure
import Keybag
import Posix

extension DeviceKeyCommand {
    struct Export: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Write the device key, unsealed, to a new file for another machine.",
            discussion: """
                With this file and the passcode, a copy of the vault opens there. A passcode of which the TPM holds a \
                part does not; latchkey device-key rebind software changes that. The file alone is enough to read \
                names, sizes, extended attributes and files of class D: keep it away from the vault.
                """ + Examples.of("latchkey device-key export /media/stick/device.key ~/vault"))

        @Option(help: ArgumentHelp("Path of the device key.", valueName: "path"))
        var deviceKey: DeviceKeyArgument?

        @Argument(help: ArgumentHelp("A new file, 0600.", valueName: "file"))
        var file: Path

        @Argument(help: ArgumentHelp("The vault, or its mount.", valueName: "vault"))
        var vault: Path

        func run() throws {
            try NewSecretFile.check(file)
            let kept = try KeptDeviceKey.of(vault, at: deviceKey?.path)
            try NewSecretFile.check(file, liesOutside: kept.vault)
            let key = try kept.loaded()
            try withKeybag(of: vault) { () throws(Failure) in try DeviceKeyFile.export(key, path: file) }
            Standard.output("The device key of \(vault) is in \(file). Keep it away from the vault.")
        }
    }
}
