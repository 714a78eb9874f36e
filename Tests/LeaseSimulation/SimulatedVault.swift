import Posix
import Sharing

/// The files and the folder, as a daemon has them in memory, with a journal: as docs/DURABILITY.md has it, without what
/// machines do not see of each other.
final class SimulatedVault: LeaseOwner, @unchecked Sendable {
    private struct File {
        var header: SimulatedDisk.Header
        var blocks: [Int]
        /// The part that only a checkpoint overwrites in place.
        var durableLength: Int
        /// Blocks that lie in the journal only.
        var journaled: [Int: Int] = [:]
        var hasRecords = false
        /// Blocks in place that no flush has confirmed.
        var isUnflushed = false
        /// Since the last header, in the journal or in place.
        var isChanged = false
        /// The header is in the journal only.
        var isUnplaced = false
        /// What lies behind the end, of a machine that crashed.
        var staleTail: Range<Int> = 0..<0
    }
    private let process: Process
    private let link: Link
    private var world: World { process.world }
    private(set) var leases: Leases!
    private var files: [Int: File] = [:]
    private var folder: [Int]?
    private let surroundings: SimulatedSurroundings
    /// What a thread reads or changes now, as with the lock that a daemon has for each file.
    private var busy: Set<LeaseObject> = []

    init(_ process: Process) {
        self.process = process
        link = Link(process)
        surroundings = SimulatedSurroundings(process)
        leases = Leases(of: process.machine, in: link, surroundings, times: World.times, owner: self)
    }

    private static let folderObject = LeaseObject(number: 1000)
    private static func object(_ file: Int) -> LeaseObject { LeaseObject(number: UInt64(file + 1)) }

    /// Before `leases.join`, this machine's journal; after it, a new one.
    func join() throws(Errno) {
        try leases.join()
        try link.change(leases.check) { world.disk.journals[process.machine] = SimulatedDisk.Journal() }
    }

    // MARK: What programs do

    private func using(
        _ object: LeaseObject, _ kind: LeaseKind, _ body: () throws(Errno) -> Void
    ) throws(Errno) {
        try leases.using(object, kind) { () throws(Errno) in try withLock(of: object, body) }
    }

    /// Needs a lease.
    private func withLock(of object: LeaseObject, _ body: () throws(Errno) -> Void) throws(Errno) {
        try surroundings.wait { !busy.contains(object) }
        busy.insert(object)
        defer { busy.remove(object) }
        // As the store's fence does after each read.
        try leases.check()
        try body()
    }

    func read(_ file: Int) throws(Errno) {
        try using(Self.object(file), .read) { () throws(Errno) in
            world.expect("read of \(file)", world.oracle.files[file].current, files[file]?.blocks)
        }
    }

    func lookUp(_ name: Int) throws(Errno) {
        try using(Self.folderObject, .read) { () throws(Errno) in
            world.expect("lookup of \(name)", world.oracle.folder.current[name], folder?[name])
        }
    }

    /// Reads the file that a name leads to, or appends to it, under leases of both. The file's is not waited for while
    /// this has one of the folder, which comes later.
    func open(_ name: Int, _ kind: LeaseKind) throws(Errno) {
        var wanted: Int?
        while true {
            let held = wanted
            if let held { try leases.acquire(Self.object(held), kind) }
            defer { if let held { leases.release(Self.object(held)) } }
            try leases.acquire(Self.folderObject, .read)
            defer { leases.release(Self.folderObject) }
            var found = 0
            try withLock(of: Self.folderObject) {
                found = folder?[name] ?? 0
                world.expect("lookup of \(name) to open it", world.oracle.folder.current[name], folder?[name])
            }
            if found == held { return try use(found, kind) }
            if held == nil, try leases.acquireAtOnce(Self.object(found), kind) {
                defer { leases.release(Self.object(found)) }
                return try use(found, kind)
            }
            wanted = found
        }
    }

    private func use(_ file: Int, _ kind: LeaseKind) throws(Errno) {
        try withLock(of: Self.object(file)) { () throws(Errno) in
            world.expect("read of \(file) by its name", world.oracle.files[file].current, files[file]?.blocks)
            if kind == .write {
                try write(file, at: nil)
                try close(file)
            }
        }
    }

    /// Opens, writes blocks, and closes. Nil appends.
    func write(_ file: Int, at indexes: [Int?], isSynced: Bool) throws(Errno) {
        for index in indexes {
            try using(Self.object(file), .write) { () throws(Errno) in try write(file, at: index) }
        }
        try using(Self.object(file), .write) { () throws(Errno) in
            try close(file)
            if isSynced { try sync(file) }
        }
    }

    private func write(_ file: Int, at index: Int?) throws(Errno) {
        guard var open = files[file] else { throw .EBADF }
        if open.blocks.count < open.header.length, !open.isChanged {
            // What a crash has left behind the end must not come back when the file grows.
            let header = SimulatedDisk.Header(
                generation: open.header.generation + 1, length: open.blocks.count, confirmed: open.header.confirmed)
            try link.change(leases.check) { world.disk.files[file].write(header) }
            try link.change(leases.check) { world.disk.files[file].sync() }
            open.header = header
        }
        if !open.staleTail.isEmpty {
            // Nor may what no header has counted: a power loss could lose the block over it, and keep it.
            for index in open.staleTail {
                try link.change(leases.check) { world.disk.files[file].write(0, at: index) }
            }
            try link.change(leases.check) { world.disk.files[file].sync() }
            open.staleTail = 0..<0
        }
        let index = min(index ?? open.blocks.count, open.blocks.count)
        let block = world.nextBlock()
        if index < open.durableLength {
            try append(.block(block, at: index), open.header.generation + 1, of: file) {
                self.world.oracle.write(block, at: index, of: file)
            }
            open.journaled[index] = block
            open.hasRecords = true
        } else {
            try link.change(leases.check) {
                world.disk.files[file].write(block, at: index)
                world.oracle.write(block, at: index, of: file)
            }
            open.isUnflushed = true
        }
        if index == open.blocks.count { open.blocks.append(block) } else { open.blocks[index] = block }
        open.isChanged = true
        files[file] = open
    }

    /// What was closed outlives the process: the journal has a header.
    private func close(_ file: Int) throws(Errno) {
        guard files[file]?.isChanged == true else { return }
        try journalHeader(of: file)
    }

    private func journalHeader(of file: Int) throws(Errno) {
        guard var open = files[file] else { return }
        open.header = SimulatedDisk.Header(
            generation: open.header.generation + 1, length: open.blocks.count, confirmed: open.durableLength)
        let content = SimulatedDisk.Record.Content.header(length: open.header.length, confirmed: open.header.confirmed)
        try append(content, open.header.generation, of: file) { self.world.oracle.files[file].close() }
        open.hasRecords = true
        open.isUnplaced = true
        open.isChanged = false
        files[file] = open
    }

    private func sync(_ file: Int) throws(Errno) {
        guard let open = files[file], open.hasRecords || open.isUnflushed else { return }
        if open.isUnflushed {
            try link.change(leases.check) { world.disk.files[file].sync() }
            files[file]?.isUnflushed = false
            files[file]?.durableLength = open.blocks.count
            try journalHeader(of: file)
        }
        try flushJournal()
        world.oracle.files[file].sync()
    }

    func rename(_ name: Int, to other: Int, isSynced: Bool) throws(Errno) {
        try using(Self.folderObject, .write) { () throws(Errno) in
            guard var names = folder, name != other else { return }
            names.swapAt(name, other)
            try link.change(leases.check) {
                world.disk.folder = names
                world.disk.folders.append(names)
                world.oracle.folder.change(names)
                world.oracle.folder.close()
            }
            folder = names
            if isSynced {
                try link.change(leases.check) {
                    world.disk.folders = [world.disk.folder]
                    world.oracle.folder.sync()
                }
            }
        }
    }

    // MARK: The journal

    private func append(
        _ content: SimulatedDisk.Record.Content, _ generation: Int, of file: Int, then: () -> Void
    ) throws(Errno) {
        try link.change(leases.check) {
            world.disk.journals[process.machine, default: .init()].records.append(
                SimulatedDisk.Record(file: file, generation: generation, content: content))
            then()
        }
    }

    private func flushJournal() throws(Errno) {
        try link.change(leases.check) {
            let count = world.disk.journals[process.machine]?.records.count ?? 0
            world.disk.journals[process.machine]?.synced = count
        }
    }

    // MARK: LeaseOwner

    func adopt(_ object: LeaseObject, _ kind: LeaseKind) throws(Errno) {
        if object == Self.folderObject {
            let names = try link.call { world.disk.folder }
            try leases.check()
            world.note("folder", world.oracle.folder.read(names) { $1.contains($0) })
            folder = names
            return
        }
        let file = Int(object.number) - 1
        let header = try link.call { world.disk.files[file].header }
        var blocks: [Int] = []
        for index in 0..<header.length {
            let block = try link.call {
                let blocks = world.disk.files[file].blocks
                return index < blocks.count ? blocks[index] : 0
            }
            if block == 0, index >= header.confirmed { break }
            blocks.append(block)
        }
        try leases.check()
        world.note("file \(file)", world.oracle.files[file].read(blocks, isMade: Oracle.isMade))
        // Whether its blocks are durable is not known: so they are overwritten through the journal only.
        let end = try link.call { world.disk.files[file].blocks.count }
        files[file] = File(
            header: header, blocks: blocks, durableLength: blocks.count,
            staleTail: blocks.count..<max(blocks.count, end))
    }

    /// A checkpoint: docs/DURABILITY.md.
    func settle(_ object: LeaseObject) throws(Errno) {
        guard object != Self.folderObject else { return }
        let file = Int(object.number) - 1
        guard var open = files[file], open.isChanged || open.isUnplaced || !open.journaled.isEmpty else { return }
        if open.hasRecords { try flushJournal() }
        for (index, block) in open.journaled.sorted(by: { $0.key < $1.key }) {
            try link.change(leases.check) { world.disk.files[file].write(block, at: index) }
        }
        try link.change(leases.check) { world.disk.files[file].sync() }
        if open.isChanged { open.header.generation += 1 }
        let header = SimulatedDisk.Header(
            generation: open.header.generation, length: open.blocks.count, confirmed: open.blocks.count)
        try link.change(leases.check) { world.disk.files[file].write(header) }
        if open.hasRecords { try link.change(leases.check) { world.disk.files[file].sync() } }
        world.oracle.files[file].close()
        files[file] = File(header: header, blocks: open.blocks, durableLength: open.blocks.count)
    }

    func forget(_ object: LeaseObject) {
        if object == Self.folderObject { folder = nil } else { files[Int(object.number) - 1] = nil }
    }

    func replay(
        _ machine: MachineNumber, _ check: @escaping @Sendable () throws(Errno) -> Void
    ) throws(Errno) {
        guard let journal = try link.call("journal", { world.disk.journals[machine] }) else { return }
        for file in world.disk.files.indices {
            let records = journal.records.filter { $0.file == file }
            let last = records.lastIndex { record in
                if case .header = record.content { true } else { false }
            }
            guard let last, case .header(let length, let confirmed) = records[last].content else { continue }
            let found = try link.call { world.disk.files[file].header }
            guard records[last].generation > found.generation else {
                // The machine may have died before it has flushed what it has placed.
                try link.change(check) { world.disk.files[file].sync() }
                continue
            }
            for record in records[..<last] where record.generation > found.generation {
                guard case .block(let block, let index) = record.content else { continue }
                try link.change(check) { world.disk.files[file].write(block, at: index) }
            }
            try link.change(check) { world.disk.files[file].sync() }
            let header = SimulatedDisk.Header(
                generation: records[last].generation, length: length, confirmed: confirmed)
            try link.change(check) { world.disk.files[file].write(header) }
            try link.change(check) { world.disk.files[file].sync() }
        }
    }

    /// The process dies: what it has not closed may be lost.
    func lose() { for file in files.keys { world.oracle.files[file].loseProcess() } }
}

extension Oracle {
    mutating func write(_ block: Int, at index: Int, of file: Int) {
        var blocks = files[file].current
        if index == blocks.count { blocks.append(block) } else { blocks[index] = block }
        files[file].change(blocks)
    }
}
