/// What was done to the contents of one file since they were last made durable, and what a cut may leave of it.
///
/// Each sector of 512 bytes reaches the disk on its own, at any time after a write to it: it shows what it held then.
/// The length is kept apart from the contents: it may be durable before the bytes (which are zeros then) or after them.
struct PendingContents: Hashable, Sendable {
    static let sectorSize = 512
    /// What the kernel writes and drops as a whole.
    static let pageSize = 4096

    enum Step: Hashable, Sendable {
        case write([UInt8], at: Int)
        case resize(to: Int)
    }

    private(set) var steps: [Step] = []
    /// The length after none, one, two... of the steps.
    private(set) var sizes: [Int]
    /// The changes of length among the first so many steps are durable, whatever a cut does.
    var settled = 0
    /// The sectors that writes have touched, each with the numbers of those steps, counted from 1.
    private(set) var dirty: [Int: [Int]] = [:]

    init(size: Int) {
        sizes = [size]
    }

    var size: Int { sizes[sizes.count - 1] }
    var changesSize: Bool { sizes.contains { $0 != sizes[0] } }

    mutating func write(_ bytes: [UInt8], at offset: Int) {
        guard !bytes.isEmpty else { return }
        touch(offset..<offset + bytes.count)
        append(.write(bytes, at: offset), size: max(size, offset + bytes.count))
    }

    /// Cutting a file, the kernel writes zeros over the rest of its last page: data, which may be on disk before the
    /// new length is.
    mutating func resize(to newSize: Int) {
        let pageEnd = min(size, newSize.roundedUp(to: Self.pageSize))
        if newSize < pageEnd {
            touch(newSize..<pageEnd)
            append(.write([UInt8](repeating: 0, count: pageEnd - newSize), at: newSize), size: size)
        }
        append(.resize(to: newSize), size: newSize)
    }

    private mutating func append(_ step: Step, size: Int) {
        steps.append(step)
        sizes.append(size)
    }

    private mutating func touch(_ range: Range<Int>) {
        for sector in range.lowerBound / Self.sectorSize...(range.upperBound - 1) / Self.sectorSize {
            dirty[sector, default: []].append(steps.count + 1)
        }
    }

    // MARK: What a cut leaves

    /// What has reached the disk.
    struct Choice: Hashable, Sendable {
        /// How many of the steps have changed the length. Of resizes among the others nothing has happened.
        var length: Int
        /// How many of the writes to each dirty sector it has seen; in the order of the sectors.
        var sectors: [Int]
    }

    var sectors: [Int] { dirty.keys.sorted() }

    var none: Choice { Choice(length: settled, sectors: [Int](repeating: 0, count: dirty.count)) }
    var all: Choice { Choice(length: steps.count, sectors: sectors.map { dirty[$0]!.count }) }

    /// The lengths that are different states, between two numbers of steps.
    func lengths(from first: Int, through last: Int) -> [Int] {
        guard first < last else { return [first] }
        return [first]
            + (first + 1...last).filter { step in
                if case .resize = steps[step - 1] { true } else { sizes[step] != sizes[step - 1] }
            }
    }

    /// The contents that the choice makes of what is durable.
    func contents(of choice: Choice, over durable: [UInt8]) -> [UInt8] {
        let size = sizes[choice.length]
        // A file that was cut and has grown again has zeros where the cut was.
        var kept = min(durable.count, size)
        for case .resize(let cut) in steps[..<choice.length] { kept = min(kept, cut) }
        var bytes = durable.first(kept, of: size)
        for (sector, seen) in zip(sectors, choice.sectors) {
            let start = sector * Self.sectorSize
            guard start < size else { continue }
            let contents = self.contents(ofSector: sector, seen: seen, length: choice.length, over: durable)
            bytes.overwrite(at: start, with: contents[..<min(Self.sectorSize, size - start)])
        }
        return bytes
    }

    private func contents(ofSector sector: Int, seen: Int, length: Int, over durable: [UInt8]) -> [UInt8] {
        let start = sector * Self.sectorSize
        var bytes = durable.slice(from: start, count: Self.sectorSize)
        let newest = seen == 0 ? 0 : dirty[sector]![seen - 1]
        // A page behind the end of a cut that has not happened is still the old one.
        var end = Int.max
        for (index, step) in steps.enumerated() {
            switch step {
            case .write(let new, let offset):
                guard index < newest, start < end else { continue }
                let from = max(offset, start)
                let to = min(offset + new.count, start + Self.sectorSize)
                if from < to { bytes.overwrite(at: from - start, with: new[from - offset..<to - offset]) }
            case .resize(let size):
                if index < length {
                    if size < start + Self.sectorSize { bytes.clear(from: max(0, size - start)) }
                } else {
                    end = min(end, size.roundedUp(to: Self.pageSize))
                }
            }
        }
        return bytes
    }
}

extension Int {
    func roundedUp(to unit: Int) -> Int { (self + unit - 1) / unit * unit }
}
