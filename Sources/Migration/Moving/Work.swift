import Posix
import Vault

/// A folder of the source and the one that its entries go to.
final class FolderPair<Source: Tree, Destination: Tree>: Sendable {
    let source: Source.Folder
    let destination: Destination.Folder
    let path: TreePath

    init(_ source: Source.Folder, _ destination: Destination.Folder, _ path: TreePath) {
        self.source = source
        self.destination = destination
        self.path = path
    }
}

/// One inode that is to be moved, with all its names.
///
/// One thread at a time has it: the batch's threads are joined between the stages.
final class Work<Source: SourceTree, Destination: Tree>: @unchecked Sendable {
    typealias Pair = FolderPair<Source, Destination>

    let names: [(name: Name, pair: Pair)]
    let kind: FileKind
    var status: FileStatus
    var original: Source.Opened?
    var copy: Destination.Opened?
    var metadata: Metadata?
    var digest: [UInt8] = []
    /// The digest of what was read back.
    var digestOfCopy: [UInt8] = []
    /// Under which of the names the destination has it already.
    var present: Set<Int> = []
    var failure: WorkFailure?
    var removal: Removal<Source>?
    /// What it is, if it is no regular file.
    var node: Node?
    var stagedNode: Name?
    /// The names at the destination that are its copy's.
    var placed: [(name: Name, pair: Pair)] = []

    init(_ names: [(name: Name, pair: Pair)], _ kind: FileKind, _ status: FileStatus) {
        self.names = names
        self.kind = kind
        self.status = status
    }

    var path: TreePath { names[0].pair.path / names[0].name }
    var isFile: Bool { kind == .regular }

    func path(_ index: Int) -> TreePath { names[index].pair.path / names[index].name }
}

/// Why one entry was left where it is.
enum WorkFailure {
    /// A program has the file open for writing, or has changed it meanwhile.
    case busy
    /// The original cannot be read.
    case source(VaultError)
    /// This user cannot give the copy what the original has, as another owner.
    case refused(Errno)
    /// The destination has no room for the copy at the moment.
    case noSpace(VaultError)
    /// What stops the whole migration.
    case fatal(VaultError, doing: String)
}
