/// The numbers of nodes by their backing inodes: a hash table of eight bytes a place, of which a quarter at least is
/// empty.
///
/// Nodes lie in the slots alone, so those are asked whose a number is; but only where 32 bits of the hash are the same,
/// for each look into a node among a million waits for the memory.
struct InodeIndex {
    private struct Place {
        /// 0 where there is none.
        var number: UInt32
        var tag: UInt32

        static let empty = Place(number: 0, tag: 0)
    }

    private static let leastPlaces = 64

    /// One that does not find its own place free stands at the next that is.
    private var places = [Place](repeating: .empty, count: leastPlaces)
    private var count = 0

    private var mask: Int { places.count - 1 }

    private func tag(of inode: BackingInode) -> UInt32 { UInt32(truncatingIfNeeded: inode.hashValue) }

    private func home(of tag: UInt32) -> Int { Int(tag) & mask }

    /// Where the number for an inode stands, or would.
    private func place(of inode: BackingInode, _ tag: UInt32, _ nodes: NodeSlots) -> Int {
        var place = home(of: tag)
        while places[place].number != 0 {
            if places[place].tag == tag, nodes[places[place].number]?.backing == inode { break }
            place = (place + 1) & mask
        }
        return place
    }

    func node(of inode: BackingInode, _ nodes: NodeSlots) -> Node? {
        nodes[places[place(of: inode, tag(of: inode), nodes)].number]
    }

    /// Enters a node, in place of another of the same inode.
    mutating func enter(_ number: UInt32, of inode: BackingInode, _ nodes: NodeSlots) {
        let tag = tag(of: inode)
        let place = place(of: inode, tag, nodes)
        if places[place].number == 0 { count += 1 }
        places[place] = Place(number: number, tag: tag)
        if 4 * count > 3 * places.count { rebuild(places: 2 * places.count) }
    }

    /// Takes the node of an inode out; it must still be in its slot.
    mutating func remove(_ inode: BackingInode, _ nodes: NodeSlots) {
        var hole = place(of: inode, tag(of: inode), nodes)
        guard places[hole].number != 0 else { return }
        count -= 1
        // Who stands behind it because this place was taken comes nearer.
        var next = hole
        while true {
            next = (next + 1) & mask
            guard places[next].number != 0 else { break }
            let distance = (next - home(of: places[next].tag)) & mask
            guard distance >= (next - hole) & mask else { continue }
            places[hole] = places[next]
            hole = next
        }
        places[hole] = .empty
        if 8 * count < places.count, places.count > Self.leastPlaces { rebuild(places: places.count / 2) }
    }

    private mutating func rebuild(places count: Int) {
        let old = places
        places = [Place](repeating: .empty, count: count)
        for entry in old where entry.number != 0 {
            var place = home(of: entry.tag)
            while places[place].number != 0 { place = (place + 1) & mask }
            places[place] = entry
        }
    }
}
