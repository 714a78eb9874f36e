import Format
import Synchronization

/// What can be seen of a node without its state's lock, which somebody may hold while he waits for the disk.
///
/// Stored under that lock, by `NodeTable.update`, before it is given back.
struct NodeFlags: RawRepresentable, Hashable, Sendable, AtomicRepresentable {
    let rawValue: UInt8

    init(rawValue: UInt8) { self.rawValue = rawValue }

    init(_ state: borrowing Node.State) {
        let file = state.file
        rawValue =
            (file != nil ? 1 : 0) | (file?.handles ?? 0 > 0 ? 2 : 0) | (state.mayHavePages ? 4 : 0)
            | (state.protectionClass?.rawValue ?? 0) << 3
    }

    /// Somebody uses its file.
    var isOpen: Bool { rawValue & 1 != 0 }
    /// Some of those are handles.
    var hasHandles: Bool { rawValue & 2 != 0 }
    /// The kernel may hold pages of it.
    var mayHavePages: Bool { rawValue & 4 != 0 }
    /// The class as it was last seen; nil for what is no file.
    var protectionClass: ProtectionClass? { ProtectionClass(rawValue: rawValue >> 3 & 7) }

    /// Its last user has gone, and the key with him: what is left to do takes the disk, and nothing of the class.
    var isClosing: Bool { rawValue & 64 != 0 }

    var closing: NodeFlags { NodeFlags(rawValue: rawValue | 64) }

    /// The class under which it counts as an open file.
    var openClass: ProtectionClass? { hasHandles ? protectionClass : nil }
}
