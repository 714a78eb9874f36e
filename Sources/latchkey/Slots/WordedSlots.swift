import Administration
import Control
import Crypto
import Failure
import Posix

/// The slots of a vault, mounted or not; failures become words.
struct WordedSlots {
    private let holder: any SlotHolder

    /// The slots of the vault at the path that the user typed.
    init(of path: Path, deviceKey: Path?) throws(CommandError) {
        let deviceKey = try deviceKeyPath(deviceKey, of: path)
        switch try PathArgument.of(path) {
        case .mount(let mount): self.init(of: mount)
        case .vault(let vault):
            self.init(
                try withKeybag(of: vault.path) { () throws(Failure) in
                    try FolderSlots(vault, deviceKeyPath: deviceKey, .ofCommand)
                })
        case .orphan(let entry): throw SilentMount(entry).error
        }
    }

    init(of mount: ServedMount) { self.init(MountedSlots(mount)) }

    private init(_ holder: any SlotHolder) { self.holder = holder }

    var vault: Path { holder.vault }

    var isGuarded: Bool { holder.isGuarded }

    var hasNoPasscode: Bool { holder.hasNoPasscode }

    func proof() throws(CommandError) -> String? {
        do { return try holder.proof() } catch { throw words(error) }
    }

    func list() throws(CommandError) -> [Slot] {
        do { return try holder.list() } catch { throw words(error) }
    }

    func add(
        _ new: borrowing NewSecret, name: String, opening opener: Opener, _ secret: borrowing Secret
    ) throws(CommandError) -> Int {
        do { return try holder.add(new, name: name, opening: opener, secret) } catch { throw words(error) }
    }

    func remove(_ slot: Int, opening opener: Opener, _ secret: borrowing Secret) throws(CommandError) {
        do { try holder.remove(slot, opening: opener, secret) } catch { throw words(error) }
    }

    func changePasscode(
        _ opener: Opener, from old: borrowing Secret, to new: borrowing Secret, allowingWeak: Bool
    ) throws(CommandError) {
        do {
            try holder.changePasscode(opener, from: old, to: new, allowingWeak: allowingWeak)
        } catch { throw words(error) }
    }

    func test(_ opener: Opener, _ secret: borrowing Secret) throws(CommandError) -> Int {
        do { return try holder.test(opener, secret) } catch { throw words(error) }
    }

    private func words(_ failure: Failure) -> CommandError {
        CommandError(failure, about: holder.mountPoint.map { .mount(at: $0) } ?? .vault(holder.vault))
    }
}
