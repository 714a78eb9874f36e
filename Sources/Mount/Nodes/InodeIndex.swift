/// The numbers of nodes by their backing inodes: a hash table of eight bytes a bucket, at least a quarter of them
/// empty.
///
/// Only the slots refer to nodes, so a lookup compares the inode in the node itself, but only if 32 bits of the hash
/// are equal: each access to one of a million nodes is a cache miss.
struct InodeIndex {
    private struct Bucket {
        /// 0 in an empty bucket.
        var number: UInt32
        var tag: UInt32

        static let empty = Bucket(number: 0, tag: 0)
    }

    private static let leastBuckets = 64

    /// Linear probing: a number whose own bucket is taken goes into the next free one.
    private var buckets = [Bucket](repeating: .empty, count: leastBuckets)
    private var count = 0

    private var mask: Int { buckets.count - 1 }

    private func tag(of inode: BackingInode) -> UInt32 { UInt32(truncatingIfNeeded: inode.hashValue) }

    private func home(of tag: UInt32) -> Int { Int(tag) & mask }

    /// The bucket that holds the number for an inode, or the free one where it belongs.
    private func bucket(of inode: BackingInode, _ tag: UInt32, _ nodes: NodeSlots) -> Int {
        var bucket = home(of: tag)
        while buckets[bucket].number != 0 {
            if buckets[bucket].tag == tag, nodes[buckets[bucket].number]?.backing == inode { break }
            bucket = (bucket + 1) & mask
        }
        return bucket
    }

    func node(of inode: BackingInode, _ nodes: NodeSlots) -> Node? {
        nodes[buckets[bucket(of: inode, tag(of: inode), nodes)].number]
    }

    /// Inserts a node, and replaces another of the same inode.
    mutating func insert(_ number: UInt32, of inode: BackingInode, _ nodes: NodeSlots) {
        let tag = tag(of: inode)
        let bucket = bucket(of: inode, tag, nodes)
        if buckets[bucket].number == 0 { count += 1 }
        buckets[bucket] = Bucket(number: number, tag: tag)
        if 4 * count > 3 * buckets.count { rebuild(buckets: 2 * buckets.count) }
    }

    /// Removes the node of an inode; it must still be in its slot.
    mutating func remove(_ inode: BackingInode, _ nodes: NodeSlots) {
        var hole = bucket(of: inode, tag(of: inode), nodes)
        guard buckets[hole].number != 0 else { return }
        count -= 1
        // Entries behind it that were displaced by this bucket move back (backward-shift deletion).
        var next = hole
        while true {
            next = (next + 1) & mask
            guard buckets[next].number != 0 else { break }
            let distance = (next - home(of: buckets[next].tag)) & mask
            guard distance >= (next - hole) & mask else { continue }
            buckets[hole] = buckets[next]
            hole = next
        }
        buckets[hole] = .empty
        if 8 * count < buckets.count, buckets.count > Self.leastBuckets { rebuild(buckets: buckets.count / 2) }
    }

    private mutating func rebuild(buckets count: Int) {
        let old = buckets
        buckets = [Bucket](repeating: .empty, count: count)
        for entry in old where entry.number != 0 {
            var bucket = home(of: entry.tag)
            while buckets[bucket].number != 0 { bucket = (bucket + 1) & mask }
            buckets[bucket] = entry
        }
    }
}
