import Crypto
import Glibc
import Posix
import Vault

/// On which side a copy has failed.
enum ContentsError: Error {
    case reading(VaultError)
    case writing(VaultError)
}

/// The contents of an open file, read piece by piece.
struct FileContents<Side: Tree> {
    let tree: Side
    let file: Side.Opened
    let status: FileStatus
    let isStopped: @Sendable () -> Bool

    /// Calls `body` with each piece and its offset; with zeros, and no offset, for what lies in a hole.
    ///
    /// - Throws: `reading(.system(.EINTR))` if it was stopped, `.system(.ETXTBSY)` if the file has become shorter.
    func forEachPiece(_ body: (RawSpan, Int64?) throws(ContentsError) -> Void) throws(ContentsError) {
        let size = status.size
        let count = Int(min(1 << 20, max(size, 1)))
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 4096)
        defer { unsafe buffer.deallocate() }
        let mayHaveHoles = status.blocks < size / 512
        var offset: Int64 = 0
        while offset < size {
            let data = mayHaveHoles ? try nextData(from: offset) : offset..<size
            try unsafe zeros(data.lowerBound - offset, buffer, body)
            offset = data.lowerBound
            while offset < data.upperBound {
                let wanted = Int(min(Int64(count), data.upperBound - offset))
                let read = try unsafe read(UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]), at: offset)
                try body(unsafe UnsafeRawBufferPointer(rebasing: buffer[..<read]).bytes, offset)
                offset += Int64(read)
            }
        }
    }

    private func nextData(from offset: Int64) throws(ContentsError) -> Range<Int64> {
        do throws(VaultError) {
            let end = status.size
            return (try tree.data(of: file, from: offset) ?? end..<end).clamped(to: offset..<end)
        } catch { throw .reading(error) }
    }

    private func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(ContentsError) -> Int {
        if isStopped() { throw .reading(.system(.EINTR)) }
        var span = unsafe buffer.mutableBytes
        let count: Int
        do throws(VaultError) { count = try tree.read(file, into: &span, at: offset) } catch { throw .reading(error) }
        guard count > 0 else { throw .reading(.system(.ETXTBSY)) }
        return count
    }

    private func zeros(
        _ count: Int64, _ buffer: UnsafeMutableRawBufferPointer,
        _ body: (RawSpan, Int64?) throws(ContentsError) -> Void
    ) throws(ContentsError) {
        guard count > 0 else { return }
        unsafe memset(buffer.baseAddress!, 0, buffer.count)
        var left = count
        while left > 0 {
            if isStopped() { throw .reading(.system(.EINTR)) }
            let part = Int(min(left, Int64(buffer.count)))
            try body(unsafe UnsafeRawBufferPointer(rebasing: buffer[..<part]).bytes, nil)
            left -= Int64(part)
        }
    }

    /// SHA-256 of all, holes included.
    func digest() throws(VaultError) -> [UInt8] {
        var digest = SHA256()
        do throws(ContentsError) {
            try forEachPiece { (bytes, offset) throws(ContentsError) in digest.add(bytes) }
        } catch {
            switch error {
            case .reading(let error), .writing(let error): throw error
            }
        }
        return digest.end()
    }
}
