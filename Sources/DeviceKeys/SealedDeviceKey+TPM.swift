import Crypto
import Failure
import Format
import Glibc
import Keybag
import Posix
import TPM

extension SealedDeviceKey {
    /// Seals a device key with the present values of the PCRs.
    init(
        sealing key: borrowing Secret, _ counter: SealedCounter?, volume: VolumeIdentifier, pcrs: PCRSelection,
        tcti: String?
    ) throws(Failure) {
        let contents: Secret
        do { contents = try ReleasedDeviceKey.encode(key, counter) } catch { throw .crypto(error) }
        do throws(TPMError) {
            self.init(volume: volume, pcrs: pcrs, sealed: try TPM(tcti: tcti).seal(contents, pcrs: pcrs))
        } catch { throw Failure(error) }
    }

    /// Has the TPM release the device key.
    ///
    /// - Throws: `hardware`, `otherPCRs`, `otherTPM`; `notADeviceKey` if something else was sealed.
    func release(path: Path, tcti: String?) throws(Failure) -> ReleasedDeviceKey {
        let secret: Secret
        do throws(TPMError) { secret = try TPM(tcti: tcti).unseal(sealed, pcrs: pcrs) } catch { throw Failure(error) }
        do throws(CryptoError) {
            if let released = try ReleasedDeviceKey.decode(secret) { return released }
        } catch { throw .crypto(error) }
        throw .notADeviceKey(path: path)
    }

    /// The contents of the file at `path` if a TPM has sealed it; nil for a file of another kind.
    static func read(_ path: Path) throws(Failure) -> SealedDeviceKey? {
        let bytes: [UInt8]
        do throws(Errno) {
            let file = try Descriptor.open(path: path, O_RDONLY | O_NONBLOCK)
            var head = [UInt8](repeating: 0, count: magic.count)
            guard try read(file, into: &head) == head.count, head == magic else { return nil }
            var contents = [UInt8](repeating: 0, count: largest + 1)
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
