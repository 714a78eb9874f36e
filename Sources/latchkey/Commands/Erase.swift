import Administration
import ArgumentParser
import Control
import Failure
import Format
import Glibc
import Keybag
import Posix

/// `latchkey erase`: makes a vault unreadable permanently.
struct Erase: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Make a vault unreadable for good, at once.",
        discussion: """
            Destroys the device key, the keybag with all its slots, and, if the vault is mounted, the keys in memory: \
            the daemon ends, even while programs use its files. Without --files the files stay, as ciphertext that no \
            key opens. No passcode is needed. An older copy of the keybag still opens with a recovery key or an escrow \
            key, and on a machine that still has the device key.
            """)

    @Flag(help: "Do not ask for the vault's name.")
    var yes = false

    @Flag(help: "Remove the files of the vault as well, after the keys.")
    var files = false

    @Option(help: ArgumentHelp("Path of the device key, for a vault that is not mounted.", valueName: "path"))
    var deviceKey: DeviceKeyArgument?

    @Argument(help: ArgumentHelp("The vault, or its mount.", valueName: "vault"))
    var argument: String

    func run() throws {
        let found = try PathArgument.of(argument)
        try checkIsWhole(found)
        switch found {
        case .mount(let mount):
            try confirm(mount.status.vault)
            let fate: KeyDestruction.DeviceKeyFate?
            do throws(Failure) { fate = KeyDestruction.DeviceKeyFate(rawValue: try mount.client.erase()) } catch {
                guard case .erased(_, let reason?) = error else {
                    throw CommandError(error, at: mount.status.mountPoint)
                }
                throw CommandError(
                    .failed,
                    "not all of the keys of \(mount.status.vault) could be destroyed, and its daemon has ended: "
                        + "\(reason)",
                    try: "latchkey erase \(mount.status.vault.quoted)")
            }
            _ = Process.waitUntilEnded(pid_t(mount.status.pid))
            try end(AbsolutePath(known: mount.status.vault), fate)
        case .vault(let vault):
            let folder = try withKeybag(of: vault.text) { () throws(Failure) in try VaultFolder(vault) }
            defer { withExtendedLifetime(folder) {} }
            // A keybag that cannot be read does not say whose device key it needs.
            let volume = (try? OpenKeybag.inspect(folder.store))?.volume
            if let deviceKey = deviceKey?.path {
                try withKeybag(of: vault.text) { () throws(Failure) in
                    try KeyDestruction.check(deviceKeyPath: deviceKey, volume: volume)
                }
            }
            try confirm(vault.text)
            let path = deviceKey?.path ?? volume.map { DeviceKeyFile.defaultPath(for: $0) }
            let destruction = KeyDestruction(deviceKeyPath: path, volume: volume, keybagIn: folder.store)
            if let failure = destruction.failure { throw CommandError(failure, of: vault.text) }
            try end(vault, destruction.deviceKey, path)
        case .orphan(let entry):
            throw SilentMount(entry).error
        }
    }

    /// Throws for a folder inside a vault or a mount: the user may mean that folder only.
    private func checkIsWhole(_ found: PathArgument) throws(CommandError) {
        let wholes: [String]
        switch found {
        case .mount(let mount): wholes = [mount.status.mountPoint, mount.status.vault]
        case .vault(let vault): wholes = [vault.text]
        case .orphan: return
        }
        let typed = [AbsolutePath(lexically: argument).text, (try? AbsolutePath(resolving: argument))?.text]
        guard !wholes.contains(where: typed.contains) else { return }
        throw CommandError(
            .failed, "\(argument) is a part of a vault, and the whole vault would be erased; nothing was done",
            try: "latchkey erase \(wholes[0].quoted)", "rm -r \(argument.quoted)   (for the folder alone)")
    }

    /// Asks the user to type the vault's name.
    private func confirm(_ vault: String) throws(CommandError) {
        if yes { return }
        let name = vault.split(separator: "/").last.map(String.init) ?? vault
        guard isatty(STDIN_FILENO) == 1 else {
            throw CommandError(
                .usage, "there is no terminal to ask at whether \(vault) is to be erased; nothing was done",
                try: "latchkey erase --yes \(argument.quoted)")
        }
        Standard.error("All that is in the vault \(vault) will be lost. Type its name, \(name), to erase it:")
        // A name with characters that cannot be typed may be typed as it is shown.
        guard let typed = readLine(), typed == name || typed == Printable(name).text else {
            throw CommandError(.failed, "that is not its name; nothing was done")
        }
    }

    /// - Parameters:
    ///   - deviceKey: what became of it; nil if its location is unknown.
    ///   - path: where it was looked for.
    private func end(
        _ vault: AbsolutePath, _ deviceKey: KeyDestruction.DeviceKeyFate?, _ path: String? = nil
    ) throws(CommandError) {
        if deviceKey == .destroyed {
            Standard.output("The vault \(vault.text) is erased: nothing opens it any more.")
        } else {
            Standard.output("The keybag of the vault \(vault.text) is destroyed: it opens no more.")
            let text =
                switch (deviceKey, path) {
                case (.foreign, let path?): "\(path) is not its device key, and stays as it was."
                case (_, let path?): "Its device key is not at \(path)."
                case (.missing, nil): "Its device key is not where it was."
                case (.foreign, nil): "What lies in the place of its device key is another one, and stays."
                default: "The location of its device key is not known."
                }
            Standard.output(
                "\(text) That key and the passcode open an older copy of the vault: destroy it, too.")
        }
        guard files else { return }
        do throws(Errno) {
            let folder = try Descriptor.open(path: vault.text, O_RDONLY | O_DIRECTORY)
            try folder.removeContents(movingUpAs: BackingName.removedPrefix)
        } catch { throw CommandError(cannot: "remove the files of", vault.text, error) }
        Standard.output("Its files are removed.")
    }
}
