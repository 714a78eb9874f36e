import Crypto
import Format
import Glibc
import Posix
import Store
import Writeback

extension Journal {
    /// Room for a file's intent and a header.
    package static let roomForFile = room(
        records: 2, payload: FileIdentifier.byteCount + Int(PATH_MAX) + FileHeader.byteCount)

    static func roomForBlocks(_ count: Int) -> UInt64 {
        room(records: count, payload: count * Int(BlockGeometry.storedBlockSize))
    }
}

extension File {
    /// Runs `body` under the exclusive lock and with room in the journal; again, if it returns false because it needs
    /// more room.
    package func withRoom(
        _ count: @autoclosure () -> UInt64, _ body: (UInt64) throws(VaultError) -> Bool
    ) throws(VaultError) {
        while true {
            var reserved = count()
            if reserved > vault.options.journalSize.part {
                // More blocks below the durable end than a part has room for: a truncation is under way, or the file
                // could not be checkpointed after one.
                try lock.withExclusive { () throws(VaultError) in
                    if count() > vault.options.journalSize.part { try checkpointAlone(CheckpointRequest()) }
                }
                reserved = count()
            }
            guard reserved <= vault.options.journalSize.part else { throw .system(.ENOSPC) }
            try vault.makeRoom(reserved)
            defer { vault.giveBackRoom(reserved) }
            let isDone = try lock.withExclusive { () throws(VaultError) in try body(reserved) }
            if isDone { return }
        }
    }

    /// Notes a change before it is made: from then on not all is durable. Needs `lock` exclusively.
    func noteChange() {
        forgetAccess()
        state.sync.willChange()
        state.times.didWrite(.now, stamp: state.durable.placed.stamp)
        list()
    }

    /// Puts the file on the dirty list, so that the vault checkpoints it later. Needs `lock` exclusively.
    func list() {
        guard !state.sync.isListed else { return }
        state.sync.didList()
        vault.signalDirtyFiles(vault.files.list(self))
    }

    /// Writes a stored block into the journal, where no crash can harm the version in place. A header must follow.
    /// Needs `lock` exclusively, and room.
    func journal(_ stored: RawSpan, asBlock block: UInt64) throws(VaultError) {
        let file = try writable()
        guard try beginRecords() else { return try putNameless(stored, as: block, in: file) }
        try backing { () throws(Errno) in
            let size = try vault.store.status(of: descriptor).size
            try reserveSpace(for: stored.byteCount, ofBlock: block, in: file, of: size)
        }
        let record = JournalRecord(
            .blocks, of: identifier, generation: 1, number: block, payloadCount: stored.byteCount)
        try vault.memory.scratches.withIdleScratch { (scratch) throws(VaultError) in
            try authentic("") { () throws(CryptoError) in try scratch.hash(stored, as: 0, vault.keys) }
            try backing { () throws(Errno) in
                let extent = try vault.openJournal().appendTogether(UInt64(record.byteCount), of: identity) { add in
                    scratch.withHash(0) { add(record, stored, $0) }
                }
                state.journal.didAppend(extent, asBlock: block)
                state.times.show(modified: .now)
            }
        }
    }

    /// Writes a stored block of a file without a name in place: no crash leaves anything of the file, once it is
    /// durable that the name is gone.
    private func putNameless(_ stored: RawSpan, as block: UInt64, in file: Descriptor) throws(VaultError) {
        try makeRemovalDurable()
        do {
            let size = try vault.store.status(of: descriptor).size
            try reserveSpace(for: stored.byteCount, ofBlock: block, in: file, of: size)
            // If the write fails, a part of what was there may be gone, and the journal's older version must not take
            // the place of this one.
            state.repair.keep(stored.array(0..<stored.byteCount), ofBlock: block)
            state.journal.forget(block)
            try vault.store.write(stored, to: file, at: Int64(BlockGeometry.backingOffset(ofBlock: block)))
            state.repair.didWrite(block)
        } catch { throw .system(error) }
    }

    /// Stored blocks in a scratch, by number.
    typealias ScratchBlocks = [(number: UInt64, range: Range<Int>)]

    /// Writes stored blocks, and behind them the header as it is now, into the journal, where no crash can harm what is
    /// in place: all of it or nothing. Needs `lock` exclusively, and room.
    func journal(_ blocks: ScratchBlocks, of scratch: Scratch) throws(VaultError) {
        let file = try writable()
        guard try beginRecords() else {
            for block in blocks {
                try unsafe journal(scratch.stored.bytes.extracting(block.range), asBlock: block.number)
            }
            return
        }
        try backing { () throws(Errno) in
            let size = try vault.store.status(of: descriptor).size
            for block in blocks { try reserveSpace(for: block.range.count, ofBlock: block.number, in: file, of: size) }
        }
        let before = state.times.modified
        state.times.show(modified: .now)
        do throws(VaultError) {
            let extents = try appendWithHeader(blocks, of: scratch)
            state.journal.didAppend(zip(blocks.map(\.number), extents))
        } catch {
            state.times.show(modified: before)
            throw error
        }
    }

    /// Copies blocks of the backing file into the journal too, and behind them the header as it is now, so that one
    /// flush confirms them. Needs `lock` exclusively, and room.
    ///
    /// - Parameter blocks: in order, no more than a pass of the scratch holds.
    func mirror(_ blocks: [UInt64], _ scratch: Scratch) throws(VaultError) {
        let size = Int(BlockGeometry.storedBlockSize)
        var copies: ScratchBlocks = []
        while copies.count < blocks.count {
            let begin = copies.count
            // One read for each run of adjacent blocks.
            let run = blocks[begin...].enumerated().prefix { $0.element == blocks[begin] + UInt64($0.offset) }.count
            let available = try unsafe readStored(
                UnsafeMutableRawBufferPointer(rebasing: scratch.stored[begin * size..<(begin + run) * size]),
                fromBlock: blocks[begin])
            for (index, block) in blocks[begin..<begin + run].enumerated() {
                let count = storedCount(ofBlock: block, available: available - index * size)
                guard count >= liveCount(ofBlock: block) + Int(BlockGeometry.overhead) else {
                    throw .damaged("block \(block) is truncated")
                }
                copies.append((block, (begin + index) * size..<(begin + index) * size + count))
            }
        }
        _ = try appendWithHeader(copies, of: scratch)
    }

    /// Appends blocks, then the header as it is now with the time of modification; returns where the blocks went. Only
    /// a header that is written to the backing file is stamped.
    private func appendWithHeader(_ blocks: ScratchBlocks, of scratch: Scratch) throws(VaultError) -> [JournalExtent] {
        let runs = try runs(of: blocks, in: scratch)
        return try backing { () throws(Errno) in
            let times = try shownTimes()
            state.willAppendHeader()
            let bytes = signedHeader(times: times)
            let header = JournalRecord(.header, of: identifier, payloadCount: FileHeader.byteCount)
            let room = runs.reduce(header.byteCount) { $0 + $1.record.byteCount }
            let (extents, last) = try vault.openJournal().appendTogether(UInt64(room), of: identity) { add in
                var extents: [JournalExtent] = []
                extents.reserveCapacity(blocks.count)
                for (index, run) in runs.enumerated() {
                    let extent = scratch.withHash(index) {
                        unsafe add(run.record, scratch.stored.bytes.extracting(run.range), $0)
                    }
                    for block in blocks[run.blocks] {
                        let start = block.range.lowerBound - run.range.lowerBound
                        extents.append(extent.part(at: start, block.range.count))
                    }
                }
                return (extents, unsafe add(header, bytes.span.bytes, nil))
            }
            state.didAppendHeader(last.sequence)
            return extents
        }
    }

    /// Adjacent blocks in a scratch that one record holds.
    private struct Run {
        /// Their indices in the list of blocks.
        let blocks: Range<Int>
        /// Their bytes in the scratch.
        let range: Range<Int>
        let record: JournalRecord
    }

    /// Divides blocks into runs, and hashes each in the scratch: not yet under the lock of the journal.
    private func runs(of blocks: ScratchBlocks, in scratch: Scratch) throws(VaultError) -> [Run] {
        var runs: [Run] = []
        var begin = 0
        while begin < blocks.count {
            var end = begin + 1
            while end < blocks.count, end - begin < JournalRecord.mostBlocks,
                blocks[end].number == blocks[end - 1].number + 1,
                blocks[end - 1].range.count == Int(BlockGeometry.storedBlockSize),
                blocks[end].range.lowerBound == blocks[end - 1].range.upperBound
            {
                end += 1
            }
            let range = blocks[begin].range.lowerBound..<blocks[end - 1].range.upperBound
            try authentic("") { () throws(CryptoError) in
                try unsafe scratch.hash(scratch.stored.bytes.extracting(range), as: runs.count, vault.keys)
            }
            let record = JournalRecord(
                .blocks, of: identifier, generation: UInt64(end - begin), number: blocks[begin].number,
                payloadCount: range.count)
            runs.append(Run(blocks: begin..<end, range: range, record: record))
            begin = end
        }
        return runs
    }

    /// Appends the header as it is now, with the time of modification. Needs `lock` exclusively, and room.
    func journalHeader() throws(VaultError) {
        guard try beginRecords() else { return }
        // The scratch is not used.
        try vault.memory.scratches.withIdleScratch { (scratch) throws(VaultError) in
            _ = try appendWithHeader([], of: scratch)
        }
    }

    /// Appends the header that an earlier failure kept from following its blocks. Needs `lock` exclusively. It frees no
    /// part of the journal, because another thread may be checkpointing.
    func appendMissingHeader() throws(VaultError) {
        guard try backing({ () throws(Errno) in try vault.openJournal().reserve(Journal.roomForFile) }) else {
            throw .system(.ENOSPC)
        }
        defer { vault.giveBackRoom(Journal.roomForFile) }
        try journalHeader()
    }

    /// Reserves space in the backing file, so that the checkpoint of an acknowledged write does not fail for want of
    /// it.
    ///
    /// - Parameter size: of the backing file.
    private func reserveSpace(
        for count: Int, ofBlock block: UInt64, in file: Descriptor, of size: Int64
    ) throws(Errno) {
        let offset = Int64(BlockGeometry.backingOffset(ofBlock: block))
        if let extent = state.journal.blocks[block], extent.count >= count { return }
        guard block >= state.header.firstSparseBlock || size < offset + Int64(count) else { return }
        do throws(Errno) {
            try vault.store.allocate(file, mode: FALLOC_FL_KEEP_SIZE, offset: offset, length: Int64(count))
        } catch {
            guard error == .EOPNOTSUPP || error == .ENOSYS else { throw error }
        }
    }
}
