/// The numbers of nodes by their backing inodes: a hash table of four bytes a place, of which a quarter at least is empty.
///
/// Nodes lie in the slots alone, so those are asked whose a number is.
struct InodeIndex {
    private static let leastPlaces = 64

    /// A number, or 0; one that does not find its own place free stands at the next that is.
    private var places = [UInt32](repeating: 0, count: leastPlaces)
    private var count = 0

    private var mask: Int { places.count - 1 }

    private func home(of inode: BackingInode) -> Int { inode.hashValue & mask }

    /// Where the number for an inode stands, or would.
    private func place(of inode: BackingInode, _ nodes: NodeSlots) -> Int {
        var place = home(of: inode)
        while places[place] != 0, nodes[places[place]]?.backing != inode { place = (place + 1) & mask }
        return place
    }

    func node(of inode: BackingInode, _ nodes: NodeSlots) -> Node? { nodes[places[place(of: inode, nodes)]] }

    /// Enters a node, in place of another of the same inode.
    mutating func enter(_ number: UInt32, of inode: BackingInode, _ nodes: NodeSlots) {
        let place = place(of: inode, nodes)
        if places[place] == 0 { count += 1 }
        places[place] = number
        if 4 * count > 3 * places.count { rebuild(places: 2 * places.count, nodes) }
    }

    /// Takes the node of an inode out; it must still be in its slot.
    mutating func remove(_ inode: BackingInode, _ nodes: NodeSlots) {
        var hole = place(of: inode, nodes)
        guard places[hole] != 0 else { return }
        count -= 1
        // Who stands behind it because this place was taken comes nearer.
        var next = hole
        while true {
            next = (next + 1) & mask
            guard places[next] != 0, let node = nodes[places[next]] else { break }
            let distance = (next - home(of: node.backing)) & mask
            guard distance >= (next - hole) & mask else { continue }
            places[hole] = places[next]
            hole = next
        }
        places[hole] = 0
        if 8 * count < places.count, places.count > Self.leastPlaces { rebuild(places: places.count / 2, nodes) }
    }

    private mutating func rebuild(places count: Int, _ nodes: NodeSlots) {
        let numbers = places
        places = [UInt32](repeating: 0, count: count)
        for number in numbers where number != 0 {
            guard let node = nodes[number] else { continue }
            places[place(of: node.backing, nodes)] = number
        }
    }
}
