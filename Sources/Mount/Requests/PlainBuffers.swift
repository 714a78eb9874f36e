import Glibc
import Posix
import Synchronization

/// Memory for the plaintext of a read's answer. It is locked against swapping where the limits allow, excluded from
/// core files, and reused.
@safe
final class PlainBuffer: @unchecked Sendable {  // unchecked: the pool lends it to one thread at a time
    static let size = 1 << 20
    let memory: UnsafeMutableRawBufferPointer
    private let isLocked: Bool

    init() {
        unsafe memory = .allocate(byteCount: Self.size, alignment: 4096)
        isLocked = unsafe ContentsMemory.protect(memory)
    }

    deinit {
        unsafe ContentsMemory.release(memory, wasLocked: isLocked)
        unsafe memory.deallocate()
    }

    /// Wipes the first `count` bytes, which held plaintext.
    func wipe(_ count: Int) {
        unsafe explicit_bzero(memory.baseAddress!, count)
    }
}

/// The buffers that no request uses at the moment.
final class PlainBufferPool: Sendable {
    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let idle = Mutex<[PlainBuffer]>([])

    func take() -> PlainBuffer {
        idle.withLock { $0.popLast() } ?? PlainBuffer()
    }

    func giveBack(_ buffer: PlainBuffer) {
        idle.withLock { $0.append(buffer) }
    }
}
