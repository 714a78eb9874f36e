import Crypto
import Failure
import Format
import Keybag
import Posix
import Synchronization
import TPM

/// The lowest generation of a keybag, as a counter in the TPM that also seals the device key.
///
/// If the counter was removed, or the TPM cleared, then no generation is too low: a memory that is lost accuses nobody.
/// Copies of a vault with the same device key have the same counter.
final class TPMCounter: GenerationCounter {
    private let path: Path
    private let volume: VolumeIdentifier
    private let authorization: Secret
    private let tcti: String?
    /// Held over calls of the TPM; a leaf otherwise. Lock order: docs/ARCHITECTURE.md.
    private let place: Mutex<SealedCounter>

    /// - Parameter path: the file of the sealed device key.
    init(
        _ place: SealedCounter, authorization: consuming Secret, path: Path, volume: VolumeIdentifier, tcti: String?
    ) {
        self.path = path
        self.volume = volume
        self.authorization = authorization
        self.tcti = tcti
        self.place = Mutex(place)
    }

    /// Makes one for a device key. Nil if the TPM has no room for it, or belongs to an owner with a password: the key
    /// can do without.
    static func make(
        for key: borrowing Secret, at generation: UInt64, path: Path, volume: VolumeIdentifier, tcti: String?
    ) throws(Failure) -> TPMCounter? {
        let authorization = try authorization(of: key, volume)
        guard let place = try make(at: generation, authorization, tcti) else { return nil }
        return TPMCounter(place, authorization: authorization, path: path, volume: volume, tcti: tcti)
    }

    static func authorization(of key: borrowing Secret, _ volume: VolumeIdentifier) throws(Failure) -> Secret {
        do { return try DeviceKey.counterAuthorization(of: key, volume: volume) } catch { throw .crypto(error) }
    }

    private static func make(
        at generation: UInt64, _ authorization: borrowing Secret, _ tcti: String?
    ) throws(Failure) -> SealedCounter? {
        do throws(TPMError) {
            let made = try TPM(tcti: tcti).makeCounter(auth: authorization)
            return SealedCounter(index: made.index, showing: made.value, at: generation)
        } catch .noRoom {
            return nil
        } catch .ownerPassword {
            return nil
        } catch { throw Failure(error) }
    }

    /// What is sealed with the device key.
    var sealed: SealedCounter { place.withLock { $0 } }

    func lowest() throws(Failure) -> UInt64 {
        try place.withLock { place throws(Failure) in
            guard let value = try value(at: place) else { return 0 }
            return place.lowest(at: value)
        }
    }

    func raise(to generation: UInt64) throws(Failure) {
        try place.withLock { place throws(Failure) in
            guard let value = try value(at: place) else { return }
            let lowest = place.lowest(at: value)
            guard lowest < generation else { return }
            let steps = UInt32(min(generation - lowest, Self.mostSteps))
            _ = try unlessLost { (tpm) throws(TPMError) in
                try tpm.increment(counter: place.index, by: steps, auth: authorization)
            }
        }
    }

    func restart(at generation: UInt64) throws(Failure) {
        try place.withLock { place throws(Failure) in
            let found = try value(at: place)
            // A new one if the old one is lost.
            let next =
                if let found {
                    SealedCounter(index: place.index, showing: found &+ 1, at: generation)
                } else { try Self.make(at: generation, authorization, tcti) }
            guard let next else { return }
            do throws(Failure) { try store(next) } catch {
                if next.index != place.index { removeCounter(next.index) }
                throw error
            }
            place = next
            guard found != nil else { return }
            // With the offset of a file that was sealed earlier, the counter must tell more than it did. Only now, so
            // that it never tells too much.
            _ = try unlessLost { (tpm) throws(TPMError) in
                try tpm.increment(counter: next.index, by: 1, auth: authorization)
            }
        }
    }

    func remove() {
        removeCounter(sealed.index)
    }

    private func removeCounter(_ index: UInt32) {
        try? TPM(tcti: tcti).removeCounter(index, auth: authorization)
    }

    /// What the counter shows; nil if it is lost.
    private func value(at place: SealedCounter) throws(Failure) -> UInt64? {
        try unlessLost { (tpm) throws(TPMError) in try tpm.value(ofCounter: place.index, auth: authorization) }
    }

    /// Nil if the counter is not there, or if another one is at its index, which refuses the authorization value.
    private func unlessLost(_ body: (borrowing TPM) throws(TPMError) -> UInt64) throws(Failure) -> UInt64? {
        do throws(TPMError) { return try body(TPM(tcti: tcti)) } catch .noCounter {
            return nil
        } catch .wrongAuthorization {
            return nil
        } catch { throw Failure(error) }
    }

    /// Seals the device key again, with this counter. The TPM must still release it: if the PCRs have changed since it
    /// did, their present values would be those of no start of the machine.
    private func store(_ place: SealedCounter) throws(Failure) {
        guard let file = try SealedDeviceKey.read(path), file.volume == volume else {
            throw .notADeviceKey(path: path)
        }
        let released = try file.release(path: path, tcti: tcti)
        guard try Self.authorization(of: released.key, volume).equals(authorization) else {
            throw .notADeviceKey(path: path)
        }
        let sealed = try SealedDeviceKey(sealing: released.key, place, volume: volume, pcrs: file.pcrs, tcti: tcti)
        try DeviceKeyFile.replace(path: path, bySealed: sealed.encoded)
    }
}
