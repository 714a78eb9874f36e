import Glibc
import Posix
import Store
import TestSupport

extension TemporaryFolder {
    func store() throws -> DirectoryStore {
        try DirectoryStore(path: Path(path))
    }
}

extension Store {
    func make(_ name: Name, in directory: Descriptor? = nil) throws(Posix.Errno) -> Descriptor {
        try open(name, in: directory ?? root, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
    }

    func put(_ bytes: [UInt8], to file: Descriptor, at offset: Int64 = 0) throws(Posix.Errno) {
        try unsafe write(bytes.span.bytes, to: file, at: offset)
    }

    func bytes(of file: Descriptor, _ count: Int = 1 << 16, at offset: Int64 = 0) throws(Posix.Errno) -> [UInt8] {
        var buffer = [UInt8](repeating: 0xee, count: count)
        var span = buffer.mutableSpan
        var bytes = unsafe span.mutableBytes
        let got = try read(file, into: &bytes, at: offset)
        return Array(buffer.prefix(got))
    }

    func names(in directory: Descriptor? = nil) throws(Posix.Errno) -> Set<Name> {
        Set(try entries(of: directory ?? root).map { $0.name })
    }
}
