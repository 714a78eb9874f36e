import Control
import Crypto
import Format
import Keybag
import Policy
import Synchronization

/// The keybag as the daemon's way from a passcode to the class keys, and from there into the mount.
final class KeybagHolder: Keyholder {
    private let keybag: OpenKeybag
    private let mount: VaultMount
    private let deviceKeyPath: String
    private let policy: PolicyInForce

    init(_ keybag: OpenKeybag, mount: VaultMount, deviceKeyPath: String, policy: PolicyInForce) {
        self.policy = policy
        self.keybag = keybag
        self.mount = mount
        self.deviceKeyPath = deviceKeyPath
    }

    func prove(_ opener: Opener, _ secret: borrowing Secret) throws(ControlError) -> any ProvenKeys {
        do throws(KeybagError) {
            return released(try keybag.unlock(Credential(opener, reading: secret)))
        } catch {
            throw ControlError(error)
        }
    }

    func changePasscode(
        _ opener: Opener, from old: borrowing Secret, to new: borrowing Secret, allowingWeak: Bool
    ) throws(ControlError) {
        try policy.check(new)
        do throws(KeybagError) {
            try keybag.changePasscode(
                from: Credential(opener, reading: old), to: new, allowingWeak: allowingWeak)
        } catch {
            throw ControlError(error)
        }
    }

    func erase() throws(ControlError) -> String {
        let destruction = keybag.destroy(deviceKeyPath: deviceKeyPath)
        if let failure = destruction.failure { throw .erased(remains: "\(failure)") }
        return destruction.deviceKey?.rawValue ?? ""
    }

    var slots: [Slot] { keybag.file.slots.map { Slot($0) } }

    func addSlot(
        _ new: borrowing NewSecret, name: String, opening opener: Opener, _ secret: borrowing Secret
    ) throws(ControlError) -> Int {
        guard let label = SlotLabel(name) else { throw .invalidParameter("name") }
        if new.kind == .passcode { try check(new) }
        if let key = new.securityKey, SecurityKeyEntry(key) == nil { throw .invalidParameter("securityKey") }
        do throws(KeybagError) {
            return Int(
                try keybag.addSlot(
                    NewSlot(new), label: label, opening: Credential(opener, reading: secret)))
        } catch {
            throw ControlError(error)
        }
    }

    private func check(_ new: borrowing NewSecret) throws(ControlError) {
        switch new.secret {
        case .some(let passcode): try policy.check(passcode)
        case .none: break
        }
    }

    func removeSlot(_ slot: Int, opening opener: Opener, _ secret: borrowing Secret) throws(ControlError) {
        guard let slot = UInt32(exactly: slot) else { throw .noSuchSlot(slot) }
        do throws(KeybagError) {
            try keybag.removeSlot(slot, opening: Credential(opener, reading: secret))
        } catch {
            throw ControlError(error)
        }
    }

    func testSlot(_ opener: Opener, _ secret: borrowing Secret) throws(ControlError) -> Int {
        do throws(KeybagError) {
            return Int(try keybag.slot(openedBy: Credential(opener, reading: secret)))
        } catch {
            throw ControlError(error)
        }
    }

    var isRotating: Bool { keybag.isRotating }

    func beginRotation(
        opening opener: Opener, _ secret: borrowing Secret, recoveryKey: borrowing Secret?, dropping: [Int]
    ) throws(ControlError) {
        do throws(KeybagError) {
            let key: Secret?
            switch recoveryKey {
            case .some(let text): key = .some(try RecoveryKeyText.decode(text))
            case .none: key = nil
            }
            try keybag.beginRotation(
                opening: Credential(opener, reading: secret), recoveryKey: key,
                dropping: Set(dropping.map { UInt32(clamping: $0) }))
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

    func admit() throws(ControlError) {
        try keys.withLock { keys throws(ControlError) in
            guard let released = keys.take(), !mount.admit(released) else { return }
            throw .failed(reason: "the vault has got new keys meanwhile: unlock again")
        }
    }
}

extension ControlError {
    /// What a client is told of a keybag's error.
    init(_ error: KeybagError) {
        self =
            switch error {
            case .wrong(.passcode, let left): .wrongPasscode(left.map { Guesses($0) })
            case .lastGuess(let limit): .lastGuess(limit: limit)
            case .wrong(.recoveryKey, _), .malformedRecoveryKey: .wrongRecoveryKey
            case .wrong(.keyFile, _), .notAKeyFile: .wrongKey(.keyFile)
            case .wrong(.escrowKey, _): .wrongKey(.escrowKey)
            case .wrong(.securityKey, _): .wrongKey(.securityKey)
            case .wrong(.noPasscode, _): .wrongKey(.noPasscode)
            case .notAPublicKey: .invalidParameter("publicKey")
            case .noSuchSlot(let slot): .noSuchSlot(Int(slot))
            case .lastSlot: .lastSlot
            case .weakPasscode: .weakPasscode
            case .tooManyGuesses(let seconds): .tooManyGuesses(seconds: Int(clamping: seconds))
            case .noMoreGuesses: .noMoreGuesses
            case .erased(let limit, let remains): .erased(limit: limit, remains: remains)
            case .changedMeanwhile: .failed(reason: "the keybag was changed meanwhile: try again")
            case .passcodeLength(let bytes): .passcodeLength(bytes)
            case .damaged(let reason): .damaged(reason: reason)
            case .tampered(let reason): .tampered(reason: reason)
            case .io(let errno, let doing): .failed(reason: "\(doing): \(errno)")
            case .crypto(let error): .failed(reason: "\(error)")
            case .hardware(let reason): .failed(reason: reason)
            case .notAVault: .damaged(reason: "the keybag is gone")
            case .passcodesNeedTPM, .onePasscodeOnly, .hasNoPasscode:
                .failed(reason: error.rule ?? "\(error)")
            case .notABackup, .damagedBackup, .wrongPassphrase, .otherKeys, .alreadyAVault, .foreignVersion,
                .foreignFeature, .otherProof,
                .deviceKeyMissing, .notADeviceKey,
                .deviceKeyMismatch,
                .cost:
                .failed(reason: "\(error)")
            }
    }
}
