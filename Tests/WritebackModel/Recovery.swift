/// What a crash has left.
struct CrashState {
    let cells: [Cell]
    let size: Int
    let header: ModelHeader?
    let metadata: Metadata
    /// With the numbers that they had.
    let records: ArraySlice<Record>
}

/// What the next session finds.
enum Finding: Hashable {
    /// There is no name.
    case missing
    /// A name without a header, which is taken away.
    case void
    /// The header has another name.
    case refused
    case file(length: Int, units: Units)
    case damaged(block: Int)
}

extension CrashState {
    /// Replays the journal and reads the file: docs/FORMAT.md, "Replay".
    func recovered() -> Finding {
        guard metadata.name != 0 else { return .missing }
        var (cells, size, header) = (cells, size, header)
        if let effect = effect(on: header) {
            for record in records[effect] {
                guard case .block(let block, let sealed) = record else { continue }
                cells[block] = .sealed(sealed)
                size = max(size, block * unitsPerBlock + sealed.count)
            }
            if case .header(let last) = records[effect.upperBound] { header = last }
        }
        guard let header else { return .void }
        guard isBound(header) else { return .refused }
        return read(cells, size, header)
    }

    /// The records that count; the last one is a header.
    private func effect(on header: ModelHeader?) -> ClosedRange<Int>? {
        let generation = header?.generation ?? 0
        var intents: [(index: Int, name: UInt8, low: UInt64, high: UInt64)] = []
        var isForgotten = false
        for (index, record) in zip(records.indices, records) {
            switch record {
            case .intent(let name, let low, let high):
                intents.append((index, name, low, high))
                isForgotten = false
            case .forget: isForgotten = true
            case .block, .header: break
            }
        }
        guard let last = intents.last, intents.contains(where: { $0.name == metadata.name }) else { return nil }
        // A file is made again only if the journal has all of it.
        if generation == 0, isForgotten || last.low != 0 { return nil }
        guard let first = intents.first(where: { $0.low <= generation && generation <= $0.high })?.index else {
            return nil
        }
        let end = records[first...].lastIndex { if case .header = $0 { true } else { false } }
        return end.map { first...$0 }
    }

    private func isBound(_ header: ModelHeader) -> Bool {
        if header.names & metadata.name != 0 { return true }
        guard let pending = metadata.pending else { return false }
        return header.generation <= pending.generation && pending.names & metadata.name != 0
    }

    private func read(_ cells: [Cell], _ size: Int, _ header: ModelHeader) -> Finding {
        var units = Units.zero
        for block in 0..<(header.provisional + unitsPerBlock - 1) / unitsPerBlock {
            guard let found = read(cells[block], size, header, block) else { return .damaged(block: block) }
            units[block * unitsPerBlock] = found.0
            units[block * unitsPerBlock + 1] = found.1
        }
        return .file(length: header.provisional, units: units)
    }

    /// As `File.openStored` reads a block of a file that was just opened; nil if it is damaged.
    private func read(_ cell: Cell, _ size: Int, _ header: ModelHeader, _ block: Int) -> (UInt8, UInt8)? {
        let start = block * unitsPerBlock
        func count(below length: Int) -> Int { max(0, min(unitsPerBlock, length - start)) }
        let live = count(below: header.provisional)
        let isUnproven = header.length < header.provisional
        let confirmed = isUnproven ? count(below: header.length) : live
        let available = count(below: size)
        var tried = count(below: header.length) > 0 ? min(count(below: header.length), available) : available
        if tried < confirmed { tried = max(tried, available) }
        let lengths = [tried, min(live, available), available].filter { $0 > 0 && $0 >= confirmed }
        guard case .sealed(let sealed) = cell, tried >= confirmed, lengths.contains(sealed.count) else {
            // Not written to its end, and never confirmed.
            return isUnproven && confirmed == 0 ? (0, 0) : nil
        }
        return (sealed.first, live > 1 ? sealed.second : 0)
    }
}

extension Disk {
    /// Calls `body` with each state that a loss of power may leave.
    func forEachCrash(_ body: (CrashState) -> Void) {
        let sizes = size.possible
        let headers = header.possible
        let names = metadata.possible
        let blocks = cells.map { $0.isFlushed ? $0.possible : Array(Set($0.possible + [.torn])) }
        // A record that a crash has torn ends the journal.
        for end in flushedRecords...records.count {
            for begin in Set([0, min(releasedRecords, end)]) {
                let kept = records[begin..<end]
                for header in headers {
                    for metadata in names {
                        for size in sizes {
                            for first in blocks[0] {
                                for second in blocks[1] {
                                    body(
                                        CrashState(
                                            cells: [first, second], size: size, header: header, metadata: metadata,
                                            records: kept))
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    /// What a killed daemon leaves.
    var killed: CrashState {
        CrashState(
            cells: cells.map(\.current), size: size.current, header: header.current, metadata: metadata.current,
            records: records[...])
    }
}
