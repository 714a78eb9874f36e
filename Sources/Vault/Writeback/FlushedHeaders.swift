import Posix
import Writeback

/// The generations of headers that were flushed, of files that nothing has open any more. When such a file is opened
/// again, no flush is needed to know that its header is on disk. Some are forgotten when there are many.
final class FlushedHeaders: Sendable {
    private static let most = 1024
    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let generations = ContendedMutex<[FileIdentity: UInt64]>([:])

    func note(_ durable: DurableState, of file: FileIdentity) {
        guard case .flushed(durable.placed.generation) = durable.flushed else { return }
        generations.withLock { generations in
            if generations.count >= Self.most { generations.removeAll(keepingCapacity: true) }
            generations[file] = durable.placed.generation
        }
    }

    /// Whether the file's header of this generation is on disk.
    func hold(_ generation: UInt64, of file: FileIdentity) -> Bool {
        generations.withLock { $0.removeValue(forKey: file) } == generation
    }
}
