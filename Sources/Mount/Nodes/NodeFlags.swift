import Format
import Synchronization

/// The part of a node's state that can be read without its lock, which a request may hold while it waits for the disk.
///
/// Written under that lock, by `NodeTable.update`, before it is released.
struct NodeFlags: RawRepresentable, Hashable, Sendable, AtomicRepresentable {
    let rawValue: UInt8

    init(rawValue: UInt8) { self.rawValue = rawValue }

    init(_ state: borrowing Node.State) {
        let file = state.file
        rawValue =
            (file != nil ? 1 : 0) | (file?.handles ?? 0 > 0 ? 2 : 0) | (state.mayHavePages ? 4 : 0)
            | (state.protectionClass?.rawValue ?? 0) << 3
    }

    /// Whether the file is in use.
    var isOpen: Bool { rawValue & 1 != 0 }
    /// Whether some of the users are handles.
    var hasHandles: Bool { rawValue & 2 != 0 }
    /// Whether the kernel may hold pages of the file.
    var mayHavePages: Bool { rawValue & 4 != 0 }
    /// The class as last seen; nil if it is no file.
    var protectionClass: ProtectionClass? { ProtectionClass(rawValue: rawValue >> 3 & 7) }

    /// The last user has left and the key is wiped. What follows waits for the disk and needs nothing of the
    /// class.
    var isClosing: Bool { rawValue & 64 != 0 }

    var closing: NodeFlags { NodeFlags(rawValue: rawValue | 64) }

    /// The class under which the file counts as open.
    var openClass: ProtectionClass? { hasHandles ? protectionClass : nil }
}
