import Format

/// Marks in memory: 36 bytes each, in slots of which 64 to 80 % are in use. Not thread-safe.
///
/// Open addressing with linear probing, in 64 shards that grow by a quarter one after another, so that no growth needs
/// much memory or time.
public struct MarkTable: Sendable {
    private static let shardCount = 64

    /// Of 32-bit numbers alone, so that nothing is lost to alignment.
    private struct Slot {
        private var keyLow: UInt32 = 0
        private var keyHigh: UInt32 = 0
        private var second: UInt32 = 0
        private var generationLow: UInt32 = 0
        private var generationHigh: UInt32 = 0
        private var blocks: UInt32 = 0
        private var digest: UInt32 = 0
        private var time: UInt32 = 0
        /// Bits 0 to 7: the class; bit 8: gone; bits 9 to 11: the kind; bit 31: the slot is in use.
        private var bits: UInt32 = 0

        private static let used: UInt32 = 1 << 31
        private static let gone: UInt32 = 1 << 8

        init() {}

        init(_ key: MarkKey, _ mark: Mark) {
            (keyLow, keyHigh) = Self.halves(key.first)
            second = key.second
            (generationLow, generationHigh) = Self.halves(mark.generation)
            blocks = mark.blocks
            digest = mark.digest
            time = mark.time
            bits =
                Self.used | (mark.isGone ? Self.gone : 0) | UInt32(mark.kind.rawValue) << 9
                | UInt32(mark.protectionClass.rawValue)
        }

        private static func halves(_ number: UInt64) -> (UInt32, UInt32) {
            (UInt32(truncatingIfNeeded: number), UInt32(truncatingIfNeeded: number >> 32))
        }

        var isUsed: Bool { bits & Self.used != 0 }
        var key: MarkKey { MarkKey(UInt64(keyHigh) << 32 | UInt64(keyLow), second) }
        var isGone: Bool { isUsed && bits & Self.gone != 0 }
        var kind: Mark.Kind { Mark.Kind(rawValue: UInt8(bits >> 9 & 7)) ?? .file }

        var mark: Mark {
            Mark(
                generation: UInt64(generationHigh) << 32 | UInt64(generationLow), blocks: blocks, digest: digest,
                time: time, protectionClass: ProtectionClass(rawValue: UInt8(bits & 0xFF)) ?? .complete,
                isGone: isGone, kind: kind)
        }
    }

    private struct Shard {
        var slots = ContiguousArray<Slot>()
        var count = 0

        /// The slot where a key belongs if no other is there. The upper bits of the key choose the shard.
        private func home(_ key: MarkKey) -> Int {
            Int((key.first << 6).multipliedFullWidth(by: UInt64(slots.count)).high)
        }

        /// The slot of a key, or the free one where it would be; nil if there are no slots.
        func index(of key: MarkKey) -> Int? {
            guard !slots.isEmpty else { return nil }
            var index = home(key)
            while slots[index].isUsed, slots[index].key != key { index = index + 1 == slots.count ? 0 : index + 1 }
            return index
        }

        mutating func growIfFull() {
            guard (count + 1) * 5 > slots.count * 4 else { return }
            let old = slots
            slots = ContiguousArray(repeating: Slot(), count: max(16, old.count * 5 / 4))
            for slot in old where slot.isUsed { slots[index(of: slot.key)!] = slot }
        }

        /// Moves those behind the freed slot up that would not be found any more.
        mutating func free(_ freed: Int) {
            var hole = freed
            var next = hole
            while true {
                next = next + 1 == slots.count ? 0 : next + 1
                guard slots[next].isUsed else { break }
                let home = home(slots[next].key)
                let isBetween = hole <= next ? (hole < home && home <= next) : (hole < home || home <= next)
                guard !isBetween else { continue }
                slots[hole] = slots[next]
                hole = next
            }
            slots[hole] = Slot()
            count -= 1
        }
    }

    private var shards = [Shard](repeating: Shard(), count: shardCount)
    /// Bounds of the numbers of blocks, of the files of those names.
    public var blocks = BlockTable()
    public private(set) var count = 0
    /// How many of them tell that a name is gone, and how many that a value is.
    public private(set) var goneCount = (names: 0, values: 0)

    public init() {}

    /// What the table takes in memory.
    public var byteCount: Int { shards.reduce(0) { $0 + $1.slots.count * MemoryLayout<Slot>.stride } }

    /// Takes in what a file says; a new name only if there are fewer than `most`.
    mutating func take(_ entry: MarkEntry, most: Int) {
        switch entry {
        case .mark(let key, let mark):
            guard self[key] != nil || count < most else { return }
            set(mark, for: key)
        case .blocks(let record): blocks.take(record)
        }
    }

    private static func shard(_ key: MarkKey) -> Int { Int(key.first >> 58) }

    public subscript(key: MarkKey) -> Mark? {
        let shard = shards[Self.shard(key)]
        guard let index = shard.index(of: key), shard.slots[index].isUsed else { return nil }
        return shard.slots[index].mark
    }

    /// Takes in the bounds of blocks that another table has of a name.
    mutating func takeBounds(of key: MarkKey, from other: MarkTable) {
        if let bounds = other.blocks[key] { blocks.raise(bounds, of: key) }
    }

    public mutating func set(_ mark: Mark, for key: MarkKey) {
        if mark.isGone { blocks.forget(key) }
        let number = Self.shard(key)
        shards[number].growIfFull()
        let index = shards[number].index(of: key)!
        let before = shards[number].slots[index]
        shards[number].slots[index] = Slot(key, mark)
        if !before.isUsed {
            shards[number].count += 1
            count += 1
        }
        countGone(before, -1)
        countGone(shards[number].slots[index], 1)
    }

    public mutating func remove(_ key: MarkKey) {
        let number = Self.shard(key)
        guard let index = shards[number].index(of: key), shards[number].slots[index].isUsed else { return }
        countGone(shards[number].slots[index], -1)
        shards[number].free(index)
        count -= 1
    }

    private mutating func countGone(_ slot: Slot, _ change: Int) {
        guard slot.isGone else { return }
        if slot.kind == .value { goneCount.values += change } else { goneCount.names += change }
    }

    public func forEach<E: Error>(_ body: (MarkKey, Mark) throws(E) -> Void) throws(E) {
        for shard in shards {
            for slot in shard.slots where slot.isUsed { try body(slot.key, slot.mark) }
        }
    }

    /// The older half of the marks that tell that a name, or a value, is gone, once there are more than `most` of them.
    public func goneBeyond(_ most: Int, ofValues: Bool) -> [MarkKey] {
        let count = ofValues ? goneCount.values : goneCount.names
        guard count > most else { return [] }
        var gone: [(time: UInt32, key: MarkKey)] = []
        gone.reserveCapacity(count)
        forEach { key, mark in if mark.isGone, (mark.kind == .value) == ofValues { gone.append((mark.time, key)) } }
        gone.sort { $0.time < $1.time }
        return gone.prefix(count - most / 2).map(\.key)
    }
}
