import Format
import Glibc
import Posix
import Writeback

/// A file on a model of a disk: it carries out what `FileState` plans, as `File` does in a store.
struct ModelFile {
    /// What the file's surroundings decide.
    typealias Rules = ModelChecker.Rules

    var state: FileState
    var disk: Disk
    var promise: Promise
    /// What a program reads.
    var units = Units.zero
    var writes: UInt8 = 0
    var checkpoint: BegunCheckpoint?
    var sync: BegunSync?
    /// The journal alone could make the file.
    var isUncommitted = false
    let rules: Rules
    /// What the disk was, and what was promised, after each change of it: a crash may come there.
    var passed: [(Disk, Promise)] = []

    /// What is wrong although no crash came.
    var fault: String?

    /// A checkpoint of several files, which has come as far as the flush of this one.
    enum BegunCheckpoint: Hashable {
        case begun(FileState.FlushMark, sequence: UInt64, needsSecondFlush: Bool, all: Bool, Disk.Mark)
        case removal
        case placed(FileState.FlushMark, Disk.Mark)
    }

    /// A flush in place that other requests do not wait for.
    struct BegunSync: Hashable {
        let mark: FileState.FlushMark
        let flush: Disk.Mark
        /// What may be found once it has succeeded.
        var contents: Promise.Contents
    }

    private static let root = DirectoryIdentifier.zero
    /// Stands for the folder that the names are in.
    static let folder = try! Descriptor.open(path: "/", O_PATH)

    /// A new file with the name 1, of which nothing is on the disk.
    init(_ rules: Rules) {
        self.rules = rules
        disk = Disk(isOrdered: rules.isOrdered)
        promise = Promise(.zero, length: 0)
        promise.names = 1
        let header = FileHeader(
            volume: .zero, file: .zero,
            protection: FileProtection(protectionClass: .none, isExplicit: false, wrapAlgorithm: 0, wrap: []),
            binding: Self.binding(1))
        state = FileState(header, isNew: true, Self.status(size: 0))
        placeHeader()
        state.names.didCreate(in: Self.root)
        list()
        disk.metadata.write(Metadata(name: 1, pending: nil))
    }

    static func binding(_ name: UInt8) -> NameBinding {
        NameBinding([name] + [UInt8](repeating: 0, count: NameBinding.byteCount - 1))
    }

    private static func status(size: Int64) -> FileStatus {
        var status = FileStatus(stat())
        status.linkCount = 1
        status.size = size
        return status
    }

    // MARK: The file

    var name: UInt8 { disk.metadata.current.name }
    var length: Int { Int(state.length / bytesPerUnit) }
    var neededSize: Int { Int(max(state.length, state.durable.end) / bytesPerUnit) }
    var isTailLonger: Bool { disk.size.current > length }

    /// The header as it is to be written.
    mutating func headerToWrite() -> ModelHeader {
        // A reader refuses such a header.
        if state.header.length > state.length { fault = "a header confirms more than the file has" }
        return ModelHeader(
            generation: state.header.generation, length: Int(state.header.length / bytesPerUnit), provisional: length,
            names: state.header.bindings.reduce(0) { $0 | $1.bytes[0] })
    }

    /// A crash may come now.
    mutating func pass() { passed.append((disk, promise)) }

    mutating func list() { if !state.sync.isListed { state.sync.didList() } }

    /// The program knows the file anew, by what is in the backing file: it was closed, and nothing waited.
    mutating func reopen() {
        let flushed = state.durable.flushed
        guard let placed = disk.header.current, placed.provisional == length else {
            return fault = "a file that is opened again has another length"
        }
        var header = state.header
        header.generation = placed.generation
        header.length = UInt64(placed.length) * bytesPerUnit
        header.provisionalLength = state.length
        header.bindings = [1, 2].filter { placed.names & $0 != 0 }.map(Self.binding)
        state = FileState(header, isNew: false, Self.status(size: Int64(disk.size.current) * Int64(bytesPerUnit)))
        // The model has no bytes beside those of blocks: a backing file is longer by these alone.
        if disk.size.current > length { state.repair.mayHaveTail() }
        if case .flushed(placed.generation) = flushed { state.durable.didFlush(placed.generation) }
        state.names.didFind(header, at: Self.binding(name), isOnlyLink: true)
    }
}
