import Glibc
import Posix
import TestStores
import TestSupport

/// Copies a folder while it changes, as rsync and cp do: it lists each directory and reads each part of a file at a
/// different moment.
struct Copier {
    /// The order in which entries are copied.
    enum Order: CaseIterable {
        /// The files of a directory in the order of their names, then the directories in it.
        case folderByFolder
        /// All directories are listed first; then the files follow in any order.
        case anyFile
        /// The journal before all else, as docs/DURABILITY.md advises.
        case journalFirst
    }

    private static let journal: Name = "lk.journal"
    /// The source at the current moment.
    private var source: LiveDisk
    private let order: Order
    /// Names of one inode stay names of one inode, as with `rsync --hard-links`.
    private let keepsLinks: Bool
    /// About how many records pass between two moments.
    private let pace: Int
    /// How many bytes are read at a moment.
    private let chunk: Int
    private var random: SeededRandom
    private(set) var copy = DiskImage()
    private var number = 1 << 40

    init(of source: LiveDisk, _ order: Order, _ random: SeededRandom) {
        self.source = source
        self.order = order
        self.random = random
        keepsLinks = Bool.random(using: &self.random)
        pace = [1, 5, 40, 200].randomElement(using: &self.random)!
        chunk = [4096, 32_768, 1 << 20].randomElement(using: &self.random)!
    }

    /// The number of records that had happened when the copying ended.
    var end: Int { source.count }

    /// Nothing is copied before this record, and nothing after `end`.
    mutating func run() {
        var (files, folders) = ([Path](), [Path()])
        if order == .journalFirst { copyFile(Path(names: [Self.journal])) }
        var listed = 0
        while listed < folders.count {
            let folder = folders[order == .folderByFolder ? folders.count - 1 : listed]
            if order == .folderByFolder { folders.removeLast() } else { listed += 1 }
            let (more, found) = list(folder)
            folders += more
            if order == .folderByFolder { found.forEach { copyFile($0) } } else { files += found }
        }
        files.shuffle(using: &random)
        for file in files where !(order == .journalFirst && file.names == [Self.journal]) { copyFile(file) }
    }

    private mutating func pass() {
        guard random.chance(40) else { return }
        source.advance(by: Int.random(in: 0...2 * pace, using: &random))
    }

    private mutating func fresh() -> RecordedInode {
        number += 1
        return RecordedInode(number: number)
    }

    // MARK: Directories

    /// The same path in the source and in the copy.
    private struct Path {
        var names: [Name] = []
    }

    private func inode(at path: Path, in image: DiskImage) -> RecordedInode? {
        path.names.reduce(.root) { inode, name in inode.flatMap { image.inodes[$0]?.entries[name] } }
    }

    private mutating func add(_ inode: DiskImage.Inode, _ number: RecordedInode, at path: Path) {
        let parent = self.inode(at: Path(names: path.names.dropLast()), in: copy)!
        if copy.inodes[number] == nil { copy.inodes[number] = inode }
        copy.inodes[parent]!.entries[path.names.last!] = number
    }

    /// Makes the directories and symbolic links of a folder, and returns what is still to be copied.
    private mutating func list(_ path: Path) -> (folders: [Path], files: [Path]) {
        pass()
        guard let folder = inode(at: path, in: source.image) else { return ([], []) }
        var (folders, files) = ([Path](), [Path]())
        let entries = source.image.inodes[folder]!.entries
        for name in entries.keys.sorted(by: { $0.bytes.lexicographicallyPrecedes($1.bytes) }) {
            let path = Path(names: path.names + [name])
            let found: RecordedInode?
            if random.chance(50) {
                found = entries[name]
            } else {
                // rsync asks for the status later than it lists.
                if random.chance(5) { pass() }
                found = inode(at: path, in: source.image)
            }
            guard let found, var inode = source.image.inodes[found] else { continue }
            switch inode.kind {
            case .regular: files.append(path)
            case .directory:
                inode.entries = [:]
                add(inode, fresh(), at: path)
                folders.append(path)
            case .symbolicLink, .special: add(inode, fresh(), at: path)
            }
        }
        return (folders, files)
    }

    // MARK: Files

    private mutating func copyFile(_ path: Path) {
        pass()
        // The file may be gone by now.
        guard let number = inode(at: path, in: source.image), let opened = source.image.inodes[number],
            opened.kind == .regular
        else { return }
        let target = keepsLinks ? number : fresh()
        guard !(keepsLinks && copy.inodes[target] != nil) else { return add(opened, target, at: path) }
        var inode = opened
        var bytes = FileBytes()
        let size = opened.bytes.count
        bytes.resize(to: size)
        // Reading the zeros that reserve the journal's space takes no time.
        for start in stride(from: 0, to: size, by: chunk) {
            let count = min(chunk, size - start)
            guard let now = source.image.inodes[number]?.bytes else { break }
            guard !now.isPlainlyZero(in: start..<start + count) else { continue }
            bytes.overwrite(at: start, with: now.slice(from: start, count: count)[...])
            pass()
        }
        // If the file has become shorter meanwhile, rsync pads it with zeros and cp does not.
        if let now = source.image.inodes[number]?.bytes.count, now < size, Bool.random(using: &random) {
            bytes.resize(to: now)
        }
        inode.bytes = bytes
        add(inode, target, at: path)
    }
}
