import Glibc
import Posix

extension Descriptor {
    func create(_ name: Name, _ bytes: [UInt8] = [], mode: UInt32 = 0o644) throws {
        let file = try open(name, O_WRONLY | O_CREAT | O_TRUNC, mode: mode)
        unsafe try file.write(bytes.span.bytes, at: 0)
    }

    func contents(of name: Name) throws -> [UInt8] {
        try open(name, O_RDONLY).contents(Int(status(of: name).size))
    }

    func contents(_ count: Int, at offset: Int64 = 0) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var elements = bytes.mutableSpan
        var buffer = unsafe elements.mutableBytes
        let got = try read(into: &buffer, at: offset)
        return Array(bytes[..<got])
    }

    func write(_ bytes: [UInt8], at offset: Int64) throws {
        unsafe try write(bytes.span.bytes, at: offset)
    }
}

/// A shared mapping of a whole file.
@safe
final class Mapping {
    private let memory: UnsafeMutableRawBufferPointer

    init(_ file: Descriptor, size: Int, protection: Int32 = PROT_READ | PROT_WRITE) throws {
        let start = unsafe mmap(nil, size, protection, MAP_SHARED, file.number, 0)
        guard let start = unsafe start, unsafe start != MAP_FAILED else { throw Errno.current }
        unsafe memory = UnsafeMutableRawBufferPointer(start: start, count: size)
    }

    deinit {
        unsafe munmap(memory.baseAddress, memory.count)
    }

    subscript(offset: Int) -> UInt8 {
        get { unsafe memory[offset] }
        set { unsafe memory[offset] = newValue }
    }

    func synchronize() throws {
        guard unsafe msync(memory.baseAddress, memory.count, MS_SYNC) == 0 else { throw Errno.current }
    }
}
