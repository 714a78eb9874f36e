import Crypto
import Failure
import Format

/// What finishes a rotation: the previous class keys, and the key that authenticates the keybag without them.
struct RotationKeys: ~Copyable, Sendable {
    var previous: KeySet
    let unlockMACKey: Secret
}

extension Bundle {
    /// The bundle of the next rotation: new class keys, the same volume key.
    func successor() throws(CryptoError) -> Bundle {
        let classKeys = try Secret(random: 128)
        return Bundle(
            try Secret(joining: Secret(joining: classKeys, volumeKey()), Secret(random: 32)))
    }

    /// What an unlock yields for a keybag whose bundle this is.
    /// - Throws: `tampered` if its previous keys do not open.
    func classKeys(of file: KeybagFile) throws(Failure) -> ClassKeys {
        guard let previous = file.previousKeys else {
            return try crypto(try classKeys(publicKey: file.publicKey))
        }
        let classKeys = try openPreviousKeys(previous, file.volume)
        let set = try KeySet(classKeys)
        do throws(CryptoError) {
            return try self.classKeys(
                publicKey: file.publicKey, rotation: RotationKeys(previous: set, unlockMACKey: unlockMACKey()))
        } catch { throw .crypto(error) }
    }

    /// The four previous class keys: 128 bytes.
    func openPreviousKeys(
        _ previous: PreviousKeys, _ volume: VolumeIdentifier
    ) throws(Failure) -> Secret {
        let key = try crypto(try previousKeysKey(volume))
        do throws(CryptoError) { return try KeyWrap.unwrap(previous.classKeys, under: key) } catch {
            guard error == .notAuthentic else { throw .crypto(error) }
            throw .tampered(reason: "its previous keys do not open")
        }
    }

    /// The record of `previous`, the bundle that this one replaces.
    func previousKeys(
        _ previous: borrowing Bundle, _ device: borrowing DeviceKey
    ) throws(CryptoError) -> PreviousKeys {
        PreviousKeys(
            classKeys: try KeyWrap.wrap(previous.classKeyBytes(), under: previousKeysKey(device.volume)),
            classKeyD: try KeyWrap.wrap(previous.classKeyD(), under: device.previousSlotKey()))
    }

    private func previousKeysKey(_ volume: VolumeIdentifier) throws(CryptoError) -> Secret {
        try .derived(from: unlockMACKey(), salt: volume.bytes, info: Label.previousKeys)
    }
}

extension DeviceKey {
    /// The key that wraps the previous key of class D.
    fileprivate func previousSlotKey() throws(CryptoError) -> Secret {
        try .derived(from: secretCopy(), salt: volume.bytes, info: Label.previousDeviceSlot)
    }

    private func secretCopy() throws(CryptoError) -> Secret {
        try withSecret { (secret) throws(CryptoError) in try secret.copy() }
    }
}

extension KeybagFile {
    /// The previous key of class D; nil if there is none, or if it is wrapped for another device key.
    func previousClassKeyD(_ device: borrowing DeviceKey) throws(Failure) -> Secret? {
        guard let previousKeys else { return nil }
        let key = try crypto(try device.previousSlotKey())
        do throws(CryptoError) { return try KeyWrap.unwrap(previousKeys.classKeyD, under: key) } catch {
            guard error == .notAuthentic else { throw .crypto(error) }
            return nil
        }
    }

    /// Wraps the previous key of class D for another device key.
    mutating func rebindPreviousKeys(
        _ bundle: borrowing Bundle, _ device: borrowing DeviceKey
    ) throws(Failure) {
        guard let previousKeys else { return }
        let classKeys = try bundle.openPreviousKeys(previousKeys, volume)
        let wrap = try crypto(try KeyWrap.wrap(classKeys.slice(96..<128), under: device.previousSlotKey()))
        self.previousKeys?.classKeyD = wrap
    }
}
