import Crypto
public import Failure
public import Format
import Glibc
public import Keybag
import Posix
import TPM

/// Device keys as they are kept on this machine: in a file as they are, or sealed in one by the TPM.
public enum DeviceKeyLocation {
    /// What keeps the key at `path`.
    ///
    /// - Throws: `deviceKeyMissing`, `notADeviceKey`, `io`.
    public static func kind(at path: String) throws(Failure) -> DeviceKeyKind {
        if let sealed = try sealed(at: path) { return .tpm2(sealed.pcrs) }
        _ = try DeviceKeyFile.load(path: path, counting: false)
        return .software
    }

    /// The key in the file at `path`, which the TPM releases if it is sealed. Wrong passcodes are counted beside it.
    ///
    /// - Throws: `deviceKeyMissing`, `notADeviceKey`, `io`; `hardware` if the TPM does not release it.
    public static func load(path: String) throws(Failure) -> DeviceKey {
        guard let file = try sealed(at: path) else { return try DeviceKeyFile.load(path: path) }
        let secret: Secret
        do throws(TPMError) { secret = try TPM.ofThisMachine().unseal(file.sealed, pcrs: file.pcrs) } catch {
            throw Failure(error)
        }
        guard secret.count == 32 else { throw .notADeviceKey(path: path) }
        return DeviceKey(volume: file.volume, released: secret, from: path, hardware: TPMGuard())
    }

    /// Makes a key for a vault, durably, and never over another one.
    ///
    /// - Throws: `io(EEXIST)`, `hardware`.
    public static func create(
        _ kind: DeviceKeyKind, path: String, volume: VolumeIdentifier
    ) throws(Failure) -> DeviceKey {
        guard case .tpm2(let pcrs) = kind else { return try DeviceKeyFile.create(path: path, volume: volume) }
        let secret = try random()
        try DeviceKeyFile.create(sealed: seal(secret, volume, pcrs).encoded, path: path, volume: volume)
        return DeviceKey(volume: volume, released: secret, from: path, hardware: TPMGuard())
    }

    /// Keeps the key at `path` otherwise: as it is, or sealed with the PCRs as they are now.
    ///
    /// - Parameter key: the one that `load` gave.
    public static func keep(
        _ key: borrowing DeviceKey, at path: String, as kind: DeviceKeyKind
    ) throws(Failure) {
        guard case .tpm2(let pcrs) = kind else { return try DeviceKeyFile.replace(path: path, by: key) }
        let volume = key.volume
        let sealed = try key.withSecret { (secret) throws(Failure) in try seal(secret, volume, pcrs) }
        try DeviceKeyFile.replace(path: path, bySealed: sealed.encoded)
    }

    /// The same key for use as another kind.
    public static func key(
        _ key: borrowing DeviceKey, at path: String, as kind: DeviceKeyKind
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

    /// What the file at `path` holds, if the TPM has sealed it; nil for a file of another kind.
    private static func sealed(at path: String) throws(Failure) -> SealedDeviceKey? {
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
