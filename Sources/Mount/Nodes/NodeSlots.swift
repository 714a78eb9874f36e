import Fuse

/// Nodes by number, from 1. Numbers are reused, and the memory of 1,024 numbers is freed when none of them is in use.
///
/// Sixteen bytes for each node; a dictionary takes up to sixty.
struct NodeSlots {
    private struct Slot {
        var node: Node?
        /// Lookups that the kernel has not forgotten yet; in a free slot, the index of the next free one.
        var lookups: UInt64
    }

    private final class Chunk {
        static let size = 1024
        var slots: [Slot]
        var used = 0
        /// The first free slot; `size` if there is none.
        var free = 0

        init() {
            slots = (0..<Self.size).map { Slot(node: nil, lookups: UInt64($0 + 1)) }
        }
    }

    private var chunks: [Chunk?] = []
    /// Chunks with free slots as of when they were appended; the last one is used first.
    private var roomy: [Int] = []
    private(set) var count = 0

    private func position(of number: UInt32) -> (chunk: Int, index: Int) {
        let (chunk, index) = (Int(number) - 1).quotientAndRemainder(dividingBy: Chunk.size)
        return (chunk, index)
    }

    /// The node of a number; nil if the number is free.
    subscript(number: UInt32) -> Node? {
        guard number > 0 else { return nil }
        let (chunk, index) = position(of: number)
        guard chunk < chunks.count else { return nil }
        return chunks[chunk]?.slots[index].node
    }

    subscript(lookupsOf number: UInt32) -> UInt64 {
        get { slot(number) { $0.lookups } }
        set { slot(number) { $0.lookups = newValue } }
    }

    private func slot<Result>(_ number: UInt32, _ body: (inout Slot) -> Result) -> Result {
        let (chunk, index) = position(of: number)
        let found = chunks[chunk]!
        precondition(found.slots[index].node != nil)
        return body(&found.slots[index])
    }

    /// Adds the node that `make` creates for a free number, with no lookups.
    mutating func add(_ make: (UInt32) -> Node) -> Node {
        let (number, chunk) = chunkWithRoom()
        let index = chunk.free
        let node = make(UInt32(number * Chunk.size + index + 1))
        chunk.free = Int(chunk.slots[index].lookups)
        chunk.used += 1
        count += 1
        chunk.slots[index] = Slot(node: node, lookups: 0)
        return node
    }

    private mutating func chunkWithRoom() -> (Int, Chunk) {
        while let number = roomy.last {
            if let chunk = chunks[number], chunk.free < Chunk.size { return (number, chunk) }
            roomy.removeLast()
        }
        let number = chunks.firstIndex { $0 == nil } ?? chunks.count
        let chunk = Chunk()
        if number == chunks.count { chunks.append(chunk) } else { chunks[number] = chunk }
        roomy.append(number)
        return (number, chunk)
    }

    /// Returns the removed node, so that its deinit does not run under the table's lock.
    mutating func remove(_ number: UInt32) -> Node? {
        let (chunkIndex, index) = position(of: number)
        guard let chunk = chunks[chunkIndex], let node = chunk.slots[index].node else { return nil }
        count -= 1
        chunk.used -= 1
        if chunk.used == 0 {
            chunks[chunkIndex] = nil
            return node
        }
        if chunk.free == Chunk.size { roomy.append(chunkIndex) }
        chunk.slots[index] = Slot(node: nil, lookups: UInt64(chunk.free))
        chunk.free = index
        return node
    }

    func filter(_ isWanted: (Node) -> Bool) -> [Node] {
        var nodes: [Node] = []
        for chunk in chunks {
            guard let chunk else { continue }
            for slot in chunk.slots { if let node = slot.node, isWanted(node) { nodes.append(node) } }
        }
        return nodes
    }
}
