import Format
import Fuse

// A file handle (name_to_handle_at(2), NFS) names a node by its number and a generation of 32 bits. The kernel may
// present it after it has forgotten the node, and after a remount. So both come from what the object keeps: its backing
// inode and its identifier.
//
// A number below 2^63 has the inode in its lower 48 bits, and 15 bits of the identifier above, so that two objects
// that have one inode, one after the other, get two numbers. Numbers from 2^63 on are for the few that would get the
// number of another node: a slot, and a count.

/// An inode number as the 48 bits that a node's number has for it: a hash of a longer one.
struct InodeKey: Hashable, Sendable {
    static let bits: UInt64 = 48
    let rawValue: UInt64

    init(_ inode: UInt64) {
        // Multiplication spreads the upper bits (Knuth's multiplicative hash).
        rawValue = inode >> Self.bits == 0 ? inode : (inode &* 0x9e37_79b9_7f4a_7c15) >> (64 - Self.bits)
    }

    /// The inode of a node's number; nil if the number has none.
    init?(_ id: NodeID) {
        guard !id.isTemporary, id != .root else { return nil }
        rawValue = id.rawValue & (1 << Self.bits - 1)
    }
}

extension NodeID {
    private static let temporary: UInt64 = 1 << 63

    /// The number that an object has in each mount.
    init(persistent inode: UInt64, _ identity: Node.Identity) {
        let some = identity.fingerprint >> 32 & 0x7fff
        self.init(rawValue: some << InodeKey.bits | InodeKey(inode).rawValue)
    }

    /// A number that no other node of this mount gets: a slot, and a count of the numbers made so far.
    init(temporary made: UInt32, slot: UInt32) {
        self.init(rawValue: Self.temporary | UInt64(made) << 32 | UInt64(slot))
    }

    var isTemporary: Bool { rawValue & Self.temporary != 0 }

    /// The slot of a temporary number.
    var slot: UInt32 { UInt32(truncatingIfNeeded: rawValue) }
}

extension Node.Identity {
    /// 64 bits of the identifier; 0 for what has none: symbolic links, FIFOs, sockets and device nodes.
    var fingerprint: UInt64 {
        switch self {
        case .file(let file): file.firstHalf
        case .directory(let directory): directory.firstHalf
        case .other: 0
        }
    }

    /// What distinguishes objects that have the same number, one after the other. The kernel keeps 32 bits of it.
    ///
    /// Source: i_generation in struct inode.
    var generation: UInt64 { fingerprint & UInt64(UInt32.max) }
}
