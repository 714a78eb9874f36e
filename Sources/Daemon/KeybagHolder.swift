import Control
import Crypto
import Keybag
import Synchronization

/// The keybag as the daemon's way from a passcode to the class keys, and from there into the mount.
final class KeybagHolder: Keyholder {
    private let keybag: OpenKeybag
    private let mount: VaultMount

    init(_ keybag: OpenKeybag, mount: VaultMount) {
        self.keybag = keybag
        self.mount = mount
    }

    func prove(_ kind: SecretKind, _ secret: borrowing Secret) throws(ControlError) -> any ProvenKeys {
        do throws(KeybagError) {
            return released(try keybag.unlock(kind, secret))
        } catch {
            throw ControlError(error)
        }
    }

    func changePasscode(from old: borrowing Secret, to new: borrowing Secret) throws(ControlError) {
        do throws(KeybagError) {
            try keybag.changePasscode(from: old, to: new)
        } catch {
            throw ControlError(error)
        }
    }

    /// Keys on their way into the mount.
    func released(_ keys: consuming ClassKeys) -> any ProvenKeys {
        ReleasedKeys(keys, mount: mount)
    }
}

private final class ReleasedKeys: ProvenKeys {
    private let keys: Mutex<ClassKeys?>
    private let mount: VaultMount

    init(_ keys: consuming ClassKeys, mount: VaultMount) {
        self.keys = Mutex(consume keys)
        self.mount = mount
    }

    func admit() {
        keys.withLock { keys in
            if let released = keys.take() { mount.admit(released) }
        }
    }
}

extension ControlError {
    /// What a client is told of a keybag's error.
    init(_ error: KeybagError) {
        self =
            switch error {
            case .wrongPasscode: .wrongPasscode
            case .wrongRecoveryKey, .malformedRecoveryKey: .wrongRecoveryKey
            case .passcodeLength(let bytes): .passcodeLength(bytes)
            case .damaged(let reason): .damaged(reason: reason)
            case .tampered(let reason): .tampered(reason: reason)
            case .io(let errno, let doing): .failed(reason: "\(doing): \(errno)")
            case .crypto(let error): .failed(reason: "\(error)")
            case .notAVault: .damaged(reason: "the keybag is gone")
            case .alreadyAVault, .foreignVersion, .foreignFeature, .deviceKeyMissing, .notADeviceKey,
                .deviceKeyMismatch,
                .cost:
                .failed(reason: "\(error)")
            }
    }
}
