import Administration
import Control
import Crypto
import Failure
import Format
import Keybag
import Posix
import Policy
import Synchronization

/// Connects the keybag and the mount: proves credentials, and installs the class keys in the mount.
final class KeybagHolder: Keyholder {
    private let keybag: OpenKeybag
    private let mount: VaultMount
    private let deviceKeyPath: Path
    private let policy: PolicyInForce
    private let isShared: Bool

    init(
        _ keybag: OpenKeybag, mount: VaultMount, deviceKeyPath: Path, policy: PolicyInForce, isShared: Bool
    ) {
        self.isShared = isShared
        self.policy = policy
        self.keybag = keybag
        self.mount = mount
        self.deviceKeyPath = deviceKeyPath
    }

    func prove(_ opener: Opener, _ secret: borrowing Secret) throws(Failure) -> any ProvenKeys {
        released(try keybag.unlock(Credential(opener, reading: secret)))
    }

    func changePasscode(
        _ opener: Opener, from old: borrowing Secret, to new: borrowing Secret, allowingWeak: Bool
    ) throws(Failure) {
        try checkIsAlone()
        try policy.check(new)
        try keybag.changePasscode(from: Credential(opener, reading: old), to: new, allowingWeak: allowingWeak)
    }

    /// Another machine has the keybag in memory, and would write its own version over this one's.
    private func checkIsAlone() throws(Failure) {
        guard isShared else { return }
        throw .failed(
            reason: "other machines may work with the vault: unmount it on all of them, and mount it without --shared")
    }

    func erase(keepingDeviceKey: Bool) throws(Failure) -> String {
        let destruction = keybag.destroy(deviceKeyPath: keepingDeviceKey ? nil : deviceKeyPath)
        if let reason = destruction.reason { throw .erased(reason: reason.text) }
        return destruction.deviceKey?.rawValue ?? ""
    }

    func removeCounter() { keybag.removeCounter() }

    var slots: [Slot] { keybag.file.slots.map { Slot($0) } }

    func addSlot(
        _ new: borrowing NewSecret, name: String, opening opener: Opener, _ secret: borrowing Secret
    ) throws(Failure) -> Int {
        try checkIsAlone()
        guard let label = SlotLabel(name) else { throw .invalidParameter(parameter: "name") }
        if new.kind == .passcode { try check(new) }
        if let key = new.securityKey, SecurityKeyEntry(key) == nil { throw .invalidParameter(parameter: "securityKey") }
        return Int(
            try keybag.addSlot(NewSlot(new), label: label, opening: Credential(opener, reading: secret)))
    }

    private func check(_ new: borrowing NewSecret) throws(Failure) {
        switch new.secret {
        case .some(let passcode): try policy.check(passcode)
        case .none: break
        }
    }

    func removeSlot(_ slot: Int, opening opener: Opener, _ secret: borrowing Secret) throws(Failure) {
        try checkIsAlone()
        guard let slot = UInt32(exactly: slot) else { throw .noSuchSlot(slot: slot) }
        try keybag.removeSlot(slot, opening: Credential(opener, reading: secret))
    }

    func testSlot(_ opener: Opener, _ secret: borrowing Secret) throws(Failure) -> Int {
        return Int(try keybag.slot(openedBy: Credential(opener, reading: secret)))
    }

    var isRotating: Bool { keybag.isRotating }

    func beginRotation(
        opening opener: Opener, _ secret: borrowing Secret, recoveryKey: borrowing Secret?, dropping: [Int]
    ) throws(Failure) {
        try checkIsAlone()
        let key: Secret?
        switch recoveryKey {
        case .some(let text): key = .some(try RecoveryKeyText.decode(text))
        case .none: key = nil
        }
        try keybag.beginRotation(
            opening: Credential(opener, reading: secret), recoveryKey: key,
            dropping: Set(dropping.map { UInt32(clamping: $0) }))
    }

    /// Class keys that can be admitted to the mount.
    func released(_ keys: consuming ClassKeys) -> any ProvenKeys {
        ReleasedKeys(keys, mount: mount)
    }
}

private final class ReleasedKeys: ProvenKeys {
    /// Held while the mount installs the keys. Lock order: docs/ARCHITECTURE.md.
    private let keys: Mutex<ClassKeys?>
    private let mount: VaultMount

    init(_ keys: consuming ClassKeys, mount: VaultMount) {
        self.keys = Mutex(consume keys)
        self.mount = mount
    }

    func admit() throws(Failure) {
        try keys.withLock { keys throws(Failure) in
            guard let released = keys.take(), !mount.admit(released) else { return }
            throw .newKeysMeanwhile
        }
    }
}
