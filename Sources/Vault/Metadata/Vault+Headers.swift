import Format
import Posix
import Store

extension Vault {
    /// Reads the header of a backing file and checks that it is authentic and of this volume.
    func readHeader(of descriptor: Descriptor) throws(VaultError) -> FileHeader {
        var bytes: InlineArray<512, UInt8> = .init(repeating: 0)
        let count: Int
        do {
            var elements = bytes.mutableSpan
            var span = unsafe elements.mutableBytes
            count = try store.read(descriptor, into: &span, at: 0)
        } catch { throw .system(error) }
        do throws(VaultError) { return try header(from: unsafe bytes.span.bytes.extracting(0..<count)) } catch {
            guard let made = madeHeader(of: descriptor) else { throw error }
            return made
        }
    }

    /// Decodes the header at the beginning of `raw` and checks that it is authentic and of this volume.
    package func header(from raw: RawSpan) throws(VaultError) -> FileHeader {
        guard raw.byteCount >= FileHeader.byteCount else { throw .damaged("shorter than a header") }
        let header: FileHeader
        do { header = try FileHeader(decoding: raw, isSynchronised: isSynchronised) } catch {
            throw .damaged("the header: \(error)")
        }
        guard header.volume == keys.volume else { throw .damaged("a file of another vault") }
        let signed = raw.extracting(0..<FileHeader.signedByteCount)
        let tag = raw.extracting(FileHeader.signedByteCount..<FileHeader.byteCount)
        guard keys.headers.verify(tag, of: signed) else { throw .damaged("the header was changed") }
        return header
    }

    /// Opens a backing file for reading, even if its mode does not let its owner read: the header is metadata.
    package func openBacking(_ name: Name, in directory: Directory) throws(VaultError) -> Descriptor {
        try withOwnerPermissions(0o400, of: .entry(name, in: directory.descriptor)) { () throws(VaultError) in
            try backing { () throws(Errno) in
                try store.open(name, in: directory.descriptor, OpenFlags.read, mode: 0)
            }
        }
    }

    /// Opens a backing file for reading and writing; nil if the mode or the store does not allow that.
    func openWritableBacking(_ name: Name, in directory: Directory) throws(VaultError) -> Descriptor? {
        guard !isReadOnly else { return nil }
        do {
            return try store.open(name, in: directory.descriptor, OpenFlags.readWrite, mode: 0)
        } catch {
            guard error == .EACCES || error == .EPERM || error == .EROFS else { throw .system(error) }
            return nil
        }
    }
}
