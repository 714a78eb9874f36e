import Glibc
import Posix
import TestStores
import TestSupport

/// Copies a folder while it changes, as rsync and cp do: each directory is listed and each part of a file is read at a
/// moment of its own.
struct Copier {
    /// What is copied when.
    enum Order: CaseIterable {
        /// The files of a directory in the order of their names, then the directories in it.
        case folderByFolder
        /// All directories are listed first; then the files come in any order.
        case anyFile
        /// The journal before all else, as docs/DURABILITY.md advises.
        case journalFirst
    }

    private static let journal: Name = "lk.journal"
    /// The source as it is by now.
    private var source: LiveDisk
    private let order: Order
    /// Names of one inode stay that, as with `rsync --hard-links`.
    private let keepsLinks: Bool
    /// How many records come between two moments, about.
    private let pace: Int
    /// How much is read at a moment.
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

    /// How many records had happened when the copying ended.
    var end: Int { source.count }

    /// Nothing is copied before this, and nothing after `end`.
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

    /// A path in the source and, the same, in the copy.
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

    /// Makes the directories and symbolic links of a folder; what else is to be copied.
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
                // Its status is asked for later.
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
        // It may be gone by now.
        guard let number = inode(at: path, in: source.image), let opened = source.image.inodes[number],
            opened.kind == .regular
        else { return }
        let target = keepsLinks ? number : fresh()
        guard !(keepsLinks && copy.inodes[target] != nil) else { return add(opened, target, at: path) }
        var inode = opened
        var bytes = FileBytes()
        let size = opened.bytes.count
        bytes.resize(to: size)
        // The space made ready for the journal takes no time.
        for start in stride(from: 0, to: size, by: chunk) {
            let count = min(chunk, size - start)
            guard let now = source.image.inodes[number]?.bytes else { break }
            guard !now.isPlainlyZero(in: start..<start + count) else { continue }
            bytes.overwrite(at: start, with: now.slice(from: start, count: count)[...])
            pass()
        }
        // What has become shorter meanwhile: rsync fills up with zeros, cp does not.
        if let now = source.image.inodes[number]?.bytes.count, now < size, Bool.random(using: &random) {
            bytes.resize(to: now)
        }
        inode.bytes = bytes
        add(inode, target, at: path)
    }
}
