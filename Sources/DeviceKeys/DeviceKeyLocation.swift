import Crypto
public import Failure
public import Format
import Glibc
public import Keybag
public import Posix
import TPM

/// The device keys of this machine: in a plain file, or in a file that the TPM has sealed.
public enum DeviceKeyLocation {
    /// How the key at `path` is kept.
    ///
    /// - Throws: `deviceKeyMissing`, `notADeviceKey`, `io`.
    public static func kind(at path: Path) throws(Failure) -> DeviceKeyKind {
        if let sealed = try sealed(at: path) { return .tpm2(sealed.pcrs) }
        _ = try DeviceKeyFile.load(path: path, counting: false)
        return .software
    }

    /// The key in the file at `path`; if it is sealed, the TPM releases it. Wrong passcodes are counted beside the
    /// file.
    ///
    /// - Throws: `deviceKeyMissing`, `notADeviceKey`, `io`; `hardware` if the TPM does not release it.
    public static func load(path: Path) throws(Failure) -> DeviceKey {
        guard let file = try sealed(at: path) else { return try DeviceKeyFile.load(path: path) }
        let secret: Secret
        do throws(TPMError) { secret = try TPM.ofThisMachine().unseal(file.sealed, pcrs: file.pcrs) } catch {
            throw Failure(error)
        }
        guard secret.count == 32 else { throw .notADeviceKey(path: path) }
        return DeviceKey(volume: file.volume, released: secret, from: path, hardware: TPMGuard())
    }

    /// Makes a key for a vault, durably. Never overwrites a file.
    ///
    /// - Throws: `io(EEXIST)`, `hardware`.
    public static func create(
        _ kind: DeviceKeyKind, path: Path, volume: VolumeIdentifier
    ) throws(Failure) -> DeviceKey {
        guard case .tpm2(let pcrs) = kind else { return try DeviceKeyFile.create(path: path, volume: volume) }
        let secret = try random()
        try DeviceKeyFile.create(sealed: seal(secret, volume, pcrs).encoded, path: path, volume: volume)
        return DeviceKey(volume: volume, released: secret, from: path, hardware: TPMGuard())
    }

    /// Changes how the key at `path` is kept: in a plain file, or sealed with the present PCR values.
    ///
    /// - Parameter key: the key that `load` returned.
    public static func keep(
        _ key: borrowing DeviceKey, at path: Path, as kind: DeviceKeyKind
    ) throws(Failure) {
        guard case .tpm2(let pcrs) = kind else { return try DeviceKeyFile.replace(path: path, by: key) }
        let volume = key.volume
        let sealed = try key.withSecret { (secret) throws(Failure) in try seal(secret, volume, pcrs) }
        try DeviceKeyFile.replace(path: path, bySealed: sealed.encoded)
    }

    /// The same key, for use as if it were kept in this way.
    public static func key(
        _ key: borrowing DeviceKey, at path: Path, as kind: DeviceKeyKind
    ) throws(Failure) -> DeviceKey {
        try key.copy(besides: path, hardware: kind == .software ? nil : TPMGuard())
    }

    static func random() throws(Failure) -> Secret {
        do { return try Secret(random: 32) } catch { throw .crypto(error) }
    }

    static func seal(
        _ secret: borrowing Secret, _ volume: VolumeIdentifier, _ pcrs: PCRSelection
    ) throws(Failure) -> SealedDeviceKey {
        do throws(TPMError) {
            return SealedDeviceKey(
                volume: volume, pcrs: pcrs, sealed: try TPM.ofThisMachine().seal(secret, pcrs: pcrs))
        } catch { throw Failure(error) }
    }

    /// The contents of the file at `path` if the TPM has sealed it; nil for a file of another kind.
    private static func sealed(at path: Path) throws(Failure) -> SealedDeviceKey? {
        let bytes: [UInt8]
        do throws(Errno) {
            let file = try Descriptor.open(path: path, O_RDONLY | O_NONBLOCK)
            var head = [UInt8](repeating: 0, count: SealedDeviceKey.magic.count)
            guard try read(file, into: &head) == head.count, head == SealedDeviceKey.magic else { return nil }
            var contents = [UInt8](repeating: 0, count: SealedDeviceKey.largest + 1)
            let count = try read(file, into: &contents)
            bytes = Array(contents.prefix(count))
        } catch .ENOENT {
            throw .deviceKeyMissing(path: path)
        } catch { throw .io(error, doing: "reading the device key file \(path)") }
        guard let sealed = SealedDeviceKey(decoding: bytes) else { throw .notADeviceKey(path: path) }
        return sealed
    }

    private static func read(_ file: borrowing Descriptor, into bytes: inout [UInt8]) throws(Errno) -> Int {
        var elements = bytes.mutableSpan
        var span = unsafe elements.mutableBytes
        return try file.read(into: &span, at: 0)
    }
}
