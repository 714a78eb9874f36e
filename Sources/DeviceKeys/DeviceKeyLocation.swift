import Crypto
public import Failure
public import Format
public import Keybag
public import Posix
import TPM

/// The device keys of this machine: in a plain file, or in a file that the TPM has sealed.
///
/// A sealed key has a counter in the TPM, which knows the lowest generation of its keybag. Only a file of an earlier
/// version has none, or one whose TPM could not make any.
public enum DeviceKeyLocation {
    /// The way to this machine's TPM, in tpm2-tss's notation: LATCHKEY_TCTI; nil for the first way that works.
    public static var tcti: String? { DeviceKeyFile.variable("LATCHKEY_TCTI") }

    /// How the key at `path` is kept.
    ///
    /// - Throws: `deviceKeyMissing`, `notADeviceKey`, `io`.
    public static func kind(at path: Path) throws(Failure) -> DeviceKeyKind {
        if let sealed = try SealedDeviceKey.read(path) { return .tpm2(sealed.pcrs) }
        _ = try DeviceKeyFile.load(path: path, counting: false)
        return .software
    }

    /// The key in the file at `path`; if it is sealed, the TPM releases it. Wrong passcodes are counted beside the
    /// file.
    ///
    /// - Throws: `deviceKeyMissing`, `notADeviceKey`, `io`; `hardware` if the TPM does not release it.
    public static func load(path: Path, tcti: String? = tcti) throws(Failure) -> DeviceKey {
        guard let file = try SealedDeviceKey.read(path) else { return try DeviceKeyFile.load(path: path) }
        let released = try file.release(path: path, tcti: tcti)
        var counter: TPMCounter?
        if let place = released.counter {
            let authorization = try TPMCounter.authorization(of: released.key, file.volume)
            counter = TPMCounter(place, authorization: authorization, path: path, volume: file.volume, tcti: tcti)
        }
        return DeviceKey(
            volume: file.volume, released: released.key, from: path, hardware: TPMGuard(tcti: tcti), counter: counter)
    }

    /// Makes a key for a vault, durably. Never overwrites a file.
    ///
    /// - Throws: `io(EEXIST)`, `hardware`.
    public static func create(
        _ kind: DeviceKeyKind, path: Path, volume: VolumeIdentifier, tcti: String? = tcti
    ) throws(Failure) -> DeviceKey {
        guard case .tpm2(let pcrs) = kind else { return try DeviceKeyFile.create(path: path, volume: volume) }
        let secret: Secret
        do { secret = try Secret(random: ReleasedDeviceKey.keyByteCount) } catch { throw .crypto(error) }
        let counter = try TPMCounter.make(for: secret, at: 1, path: path, volume: volume, tcti: tcti)
        do throws(Failure) {
            let file = try SealedDeviceKey(sealing: secret, counter?.sealed, volume: volume, pcrs: pcrs, tcti: tcti)
            try DeviceKeyFile.create(sealed: file.encoded, path: path, volume: volume)
        } catch {
            counter?.remove()
            throw error
        }
        return DeviceKey(
            volume: volume, released: secret, from: path, hardware: TPMGuard(tcti: tcti), counter: counter)
    }

    /// Changes how the key at `path` is kept: in a plain file, or sealed with the present PCR values and with a
    /// counter. `load` returns the key with that. A counter that is there stays: a file that was sealed before must not
    /// find it gone, since a counter that is lost refuses no keybag.
    ///
    /// - Parameters:
    ///   - key: the key that `load` returned.
    ///   - generation: the lowest that the keybag may have from then on.
    public static func keep(
        _ key: borrowing DeviceKey, at path: Path, as kind: DeviceKeyKind, generation: UInt64 = 1,
        tcti: String? = tcti
    ) throws(Failure) {
        if case .tpm2(let pcrs) = kind {
            let volume = key.volume
            var present = key.counter as? TPMCounter
            // A lost one is of no use; one that cannot be asked now is not lost.
            if let counter = present, try counter.lowest() == 0 { present = nil }
            try key.withSecret { (secret) throws(Failure) in
                let counter =
                    if let present { present } else {
                        try TPMCounter.make(for: secret, at: generation, path: path, volume: volume, tcti: tcti)
                    }
                try seal(secret, counter, isNew: present == nil, volume, pcrs, replacing: path, tcti)
                // If this fails, the next write of the keybag tries again.
                try? present?.raise(to: generation)
            }
        } else {
            try DeviceKeyFile.replace(path: path, by: key)
            // Only now: until the new file is durable, the old one may come back.
            key.counter?.remove()
        }
    }

    private static func seal(
        _ secret: borrowing Secret, _ counter: TPMCounter?, isNew: Bool, _ volume: VolumeIdentifier,
        _ pcrs: PCRSelection, replacing path: Path, _ tcti: String?
    ) throws(Failure) {
        var file: SealedDeviceKey?
        do throws(Failure) {
            let sealed = try SealedDeviceKey(sealing: secret, counter?.sealed, volume: volume, pcrs: pcrs, tcti: tcti)
            file = sealed
            try DeviceKeyFile.replace(path: path, bySealed: sealed.encoded)
        } catch {
            // The failure may have come after the file was replaced.
            if isNew, file == nil || (try? SealedDeviceKey.read(path)) != file { counter?.remove() }
            throw error
        }
    }

    /// The same key, for use as if it were kept in this way.
    public static func key(
        _ key: borrowing DeviceKey, at path: Path, as kind: DeviceKeyKind
    ) throws(Failure) -> DeviceKey {
        kind == .software
            ? try key.copy(besides: path, hardware: nil)
            : try key.copy(besides: path, hardware: TPMGuard(), counter: key.counter)
    }

    /// What removes the counter of the key at `path` once that file is destroyed; nil if no TPM has sealed the key. No
    /// TPM is asked before it is called: one that does not answer must not keep a key from being destroyed.
    public static func counterRemoval(at path: Path, tcti: String? = tcti) -> (() -> Void)? {
        guard let file = (try? SealedDeviceKey.read(path)) ?? nil else { return nil }
        return {
            guard let released = try? file.release(path: path, tcti: tcti), let place = released.counter,
                let authorization = try? TPMCounter.authorization(of: released.key, file.volume)
            else { return }
            TPMCounter(place, authorization: authorization, path: path, volume: file.volume, tcti: tcti).remove()
        }
    }
}
