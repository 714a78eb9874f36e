/// The changes of one file's contents since they were last durable, and what a crash may leave of them.
///
/// Each sector of 512 bytes reaches the disk on its own, at any time after a write to it, with its contents at that
/// time. The length is separate from the contents: it may be durable before the bytes (which read as zeros then) or
/// after them.
struct PendingContents: Hashable, Sendable {
    static let sectorSize = 512
    /// The unit that the kernel writes back and drops.
    static let pageSize = 4096

    enum Step: Hashable, Sendable {
        case write([UInt8], at: Int)
        case resize(to: Int)
    }

    /// The durable contents.
    let durable: FileBytes
    private(set) var steps: [Step] = []
    /// The length after none, one, two... of the steps.
    private(set) var sizes: [Int]
    /// The number of steps whose changes of length survive any crash.
    var persisted = 0
    /// The sectors that writes have touched, in order, each with the indices of the steps that touched it.
    private(set) var sectors: [Int] = []
    private(set) var touches: [[Int]] = []
    private var indices: [Int: Int] = [:]
    /// The indices of the steps that are resizes.
    private var resizes: [Int] = []

    init(over durable: FileBytes) {
        self.durable = durable
        sizes = [durable.count]
    }

    var size: Int { sizes[sizes.count - 1] }
    var changesSize: Bool { sizes.contains { $0 != sizes[0] } }

    mutating func write(_ bytes: [UInt8], at offset: Int) {
        guard !bytes.isEmpty else { return }
        touch(offset..<offset + bytes.count, isZero: resizes.isEmpty && bytes.isZero(in: 0..<bytes.count))
        append(.write(bytes, at: offset), size: max(size, offset + bytes.count))
    }

    /// When a file is truncated, the kernel writes zeros from the new end to the end of that page. These are data, and
    /// may be on disk before the new length is.
    mutating func resize(to newSize: Int) {
        let pageEnd = min(size, newSize.roundedUp(to: Self.pageSize))
        if newSize < pageEnd {
            touch(newSize..<pageEnd)
            append(.write([UInt8](repeating: 0, count: pageEnd - newSize), at: newSize), size: size)
        }
        resizes.append(steps.count)
        append(.resize(to: newSize), size: newSize)
    }

    private mutating func append(_ step: Step, size: Int) {
        steps.append(step)
        sizes.append(size)
    }

    /// Zeros over zeros, which reserve space, make no difference after a crash.
    private mutating func touch(_ range: Range<Int>, isZero: Bool = false) {
        for sector in range.lowerBound / Self.sectorSize...(range.upperBound - 1) / Self.sectorSize {
            let start = sector * Self.sectorSize
            if isZero, indices[sector] == nil, durable.isZero(in: start..<start + Self.sectorSize) { continue }
            if let index = indices[sector] {
                touches[index].append(steps.count)
                continue
            }
            let index = sectors.last ?? -1 < sector ? sectors.count : sectors.firstIndex { $0 > sector }!
            sectors.insert(sector, at: index)
            touches.insert([steps.count], at: index)
            if index == sectors.count - 1 {
                indices[sector] = index
            } else {
                for index in index..<sectors.count { indices[sectors[index]] = index }
            }
        }
    }

    // MARK: What a crash leaves

    /// What has reached the disk.
    struct Choice: Hashable, Sendable {
        /// The number of steps whose changes of length have happened; resizes among later steps have not happened.
        var length: Int
        /// For each touched sector, in order, the number of writes that have reached it.
        var sectors: [Int]
    }

    var none: Choice { Choice(length: persisted, sectors: [Int](repeating: 0, count: sectors.count)) }
    var all: Choice { Choice(length: steps.count, sectors: touches.map(\.count)) }

    /// The lengths that make different states, between two numbers of steps.
    func lengths(from first: Int, through last: Int) -> [Int] {
        guard first < last else { return [first] }
        return [first]
            + (first + 1...last).filter { resizes.contains($0 - 1) || sizes[$0] != sizes[$0 - 1] }
    }

    /// The contents of the file after a crash with this choice.
    func contents(of choice: Choice) -> FileBytes {
        var bytes = durable
        // A file that was truncated and has grown again has zeros behind the truncated length.
        for case .resize(let end) in resizes.prefix(while: { $0 < choice.length }).map({ steps[$0] }) {
            bytes.resize(to: min(bytes.count, end))
        }
        let size = sizes[choice.length]
        bytes.resize(to: size)
        for (index, seen) in choice.sectors.enumerated() {
            let start = sectors[index] * Self.sectorSize
            guard start < size, seen > 0 || !resizes.isEmpty else { continue }
            let sector = contents(ofSector: index, seen: seen, length: choice.length)
            bytes.overwrite(at: start, with: sector[..<min(Self.sectorSize, size - start)])
        }
        return bytes
    }

    private func contents(ofSector index: Int, seen: Int, length: Int) -> [UInt8] {
        let start = sectors[index] * Self.sectorSize
        let reached = touches[index].prefix(seen)
        var bytes = durable.slice(from: start, count: Self.sectorSize)
        // If a truncation has not happened, the page behind its end still has its old contents.
        var end = Int.max
        for index in resizes.isEmpty ? Array(reached) : (reached + resizes).sorted() {
            switch steps[index] {
            case .write(let new, let offset):
                guard start < end else { continue }
                let from = max(offset, start)
                let to = min(offset + new.count, start + Self.sectorSize)
                bytes.overwrite(at: from - start, with: new[from - offset..<to - offset])
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
