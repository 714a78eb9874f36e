import Counter
import CrashSimulator
import Format
import Glibc
import Keybag
import Posix
import Store
import Vault

/// Reads and writes a file of a vault, one block and many at a time, and prints the allocations, the retains and the
/// read-write locks of each call, a line each: `read 1 ALLOCATIONS RETAINS LOCKS` and so on; the last line, `all 0`, is
/// for the whole program.
@main struct Main {
    private static let rounds: UInt64 = 64

    static func main() throws {
        let folder = try StateFolder()
        let keys = try VaultKeys(in: folder)
        let vault = keys.vault(over: try DirectoryStore(path: Path(folder.path)))
        defer { vault.abandon() }
        let root = try vault.openRoot()
        let owner = Ownership(mode: 0o600, user: getuid(), group: getgid())
        let file = try vault.createFile("file", in: root, owner, .completeUntilFirstUserAuthentication)
        var buffer = [UInt8](repeating: 7, count: 256 * Int(BlockGeometry.blockSize))
        try unsafe file.write(buffer.span.bytes, at: 0)

        guard count_retains() != 0 else { throw Posix.Errno.ENOTSUP }
        for blocks in [1, 256] {
            let count = blocks * Int(BlockGeometry.blockSize)
            let read = try measured {
                let read = try unsafe buffer.withUnsafeMutableBytes { bytes in
                    var part = unsafe MutableRawSpan(
                        _unsafeBytes: UnsafeMutableRawBufferPointer(rebasing: bytes[..<count]))
                    return try file.read(into: &part, at: 0)
                }
                guard read == count else { throw Posix.Errno.EIO }
            }
            let written = try measured { try unsafe file.write(buffer.span.bytes.extracting(0..<count), at: 0) }
            for (name, measure) in [("read", read), ("write", written)] {
                print(name, blocks, measure.allocations, measure.retains, measure.locks)
            }
        }
        print("all 0", counted_allocations(), counted_retains(), counted_locks())
    }

    /// The cost of a call once it has been made before.
    private static func measured(
        _ body: () throws -> Void
    ) rethrows -> (allocations: Int, retains: Int, locks: Int) {
        for _ in 0..<4 { try body() }
        let before = (counted_allocations(), counted_retains(), counted_locks())
        for _ in 0..<rounds { try body() }
        let after = (counted_allocations(), counted_retains(), counted_locks())
        return (
            Int((after.0 - before.0) / rounds), Int((after.1 - before.1) / rounds), Int((after.2 - before.2) / rounds)
        )
    }
}
