import Crypto
import DeviceKeys
import Failure
import Format
import Keybag
import Posix
import SoftTPM
import TPM
import TestSecrets
import TestSupport

/// A machine with a TPM of its own, and the file of a device key.
final class Machine {
    let tpm: SoftTPM
    let folder: TemporaryFolder
    let volume = VolumeIdentifier([UInt8](repeating: 0x5a, count: 16))

    init() throws {
        tpm = try SoftTPM()
        folder = try TemporaryFolder()
    }

    var path: Path { Path(folder.path("device.key")) }
    var contents: [UInt8] { get throws { try Disk.read(folder.path("device.key")) } }

    func create(_ kind: DeviceKeyKind = .tpm2(.none)) throws -> DeviceKey {
        try DeviceKeyLocation.create(kind, path: path, volume: volume, tcti: tpm.tcti)
    }

    func load() throws -> DeviceKey { try DeviceKeyLocation.load(path: path, tcti: tpm.tcti) }

    func keep(_ key: borrowing DeviceKey, as kind: DeviceKeyKind, generation: UInt64 = 1) throws {
        try DeviceKeyLocation.keep(key, at: path, as: kind, generation: generation, tcti: tpm.tcti)
    }

    /// The lowest generation, as the next process finds it; nil without a counter.
    func lowest() throws -> UInt64? {
        let key = try load()
        return try key.counter?.lowest()
    }

    /// Puts a file there that holds these bytes, sealed without PCRs.
    func write(sealing bytes: [UInt8]) throws {
        let sealed = try TPM(tcti: tpm.tcti).seal(secret(bytes))
        let head = Array("LKTPMKEY".utf8) + [1, 0, 0, 0, 0, 0, 0, 0] + volume.bytes + [0, 0, 0, 0, 0, 0, 0, 0]
        try Disk.write(head + sealed.encoded, to: folder.path("device.key"))
    }

    /// What the TPM releases for the file, sealed without PCRs.
    func released() throws -> [UInt8] {
        try TPM(tcti: tpm.tcti).unseal(SealedSecret(decoding: Array(contents[40...]))).exposed
    }
}

extension DeviceKey {
    var bytes: [UInt8] { withSecret { $0.exposed } }
}

/// The failure that `body` throws; nil if it throws none.
func failure(_ body: () throws -> Void) -> Failure? {
    do { try body() } catch { return error as? Failure }
    return nil
}
