import Crypto
import Format
import Keybag
import TPM

/// The contents of a device key file that a TPM has sealed. docs/FORMAT.md, "The device key in a TPM".
struct SealedDeviceKey: Hashable, Sendable {
    static var magic: [UInt8] { DeviceKeyFile.sealedMagic }
    static let headByteCount = 40
    static let largest = headByteCount + SealedSecret.maximumSize

    let volume: VolumeIdentifier
    let pcrs: PCRSelection
    let sealed: SealedSecret

    init(volume: VolumeIdentifier, pcrs: PCRSelection, sealed: SealedSecret) {
        self.volume = volume
        self.pcrs = pcrs
        self.sealed = sealed
    }

    /// Nil for bytes that are not such a file, or not a complete one.
    init?(decoding bytes: [UInt8]) {
        guard bytes.count > Self.headByteCount, bytes.count <= Self.largest, bytes.starts(with: Self.magic),
            Array(bytes[8..<10]) == [1, 0], bytes[10..<16].allSatisfy({ $0 == 0 }),
            bytes[36..<40].allSatisfy({ $0 == 0 }),
            let pcrs = PCRSelection(mask: bytes[32..<36].reversed().reduce(0) { $0 << 8 | UInt32($1) }),
            let sealed = try? SealedSecret(decoding: Array(bytes[Self.headByteCount...]))
        else { return nil }
        self.init(volume: VolumeIdentifier(Array(bytes[16..<32])), pcrs: pcrs, sealed: sealed)
    }

    var encoded: [UInt8] {
        let mask = (0..<4).map { UInt8(truncatingIfNeeded: pcrs.mask >> UInt32(8 * $0)) }
        return Self.magic + [1, 0] + [UInt8](repeating: 0, count: 6) + volume.bytes + mask + [0, 0, 0, 0]
            + sealed.encoded
    }
}
