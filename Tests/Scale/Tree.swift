import Glibc
import Posix
import Synchronization

/// Files spread evenly over folders, with a hundred folders in each.
final class Tree: Sendable {
    private let path: String
    private let files: Int
    private let folders: Int
    /// One in this many files has 104 bytes; the others are empty.
    private let rarity: Int
    private let threads: Int

    private static let wordsInFile = 13
    private static let foldersInGroup = 100

    /// - Parameter numbers: files and folders, and optionally the rarity of files with contents, and threads.
    init(path: String, _ numbers: [Int]) {
        self.path = path
        files = numbers[0]
        folders = numbers[1]
        rarity = numbers.count > 2 ? numbers[2] : 1
        threads = numbers.count > 3 ? numbers[3] : 1
    }

    private func folder(_ number: Int) -> String {
        "\(path)/group \(number / Self.foldersInGroup)/folder \(number)"
    }

    private func file(_ number: Int, in folder: Int) -> String { "\(self.folder(folder))/file \(number)" }

    private func filesIn(folder: Int) -> Range<Int> { files * folder / folders..<files * (folder + 1) / folders }

    func make() throws {
        try makeFolder(path)
        for group in 0..<(folders + Self.foldersInGroup - 1) / Self.foldersInGroup {
            try makeFolder("\(path)/group \(group)")
        }
        try forAllFolders { [self] folder in
            try makeFolder(self.folder(folder))
            for number in filesIn(folder: folder) { try make(number, file(number, in: folder)) }
        }
    }

    private func make(_ number: Int, _ path: String) throws {
        guard number % rarity == 0 else {
            guard unsafe mknod(path, S_IFREG | 0o644, 0) == 0 else { throw Errno.current }
            return
        }
        let file = try Descriptor.open(path: path, O_WRONLY | O_CREAT | O_EXCL, mode: 0o644)
        try file.write(Pattern.words(file: number, count: Self.wordsInFile), at: 0)
    }

    /// Checks that every file holds what it should.
    func read() throws {
        try forAllFolders { [self] folder in
            for number in filesIn(folder: folder) where number % rarity == 0 {
                let path = file(number, in: folder)
                let file = try Descriptor.open(path: path, O_RDONLY)
                try file.check(Pattern.words(file: number, count: Self.wordsInFile), at: 0, path)
                guard try file.status().size == 8 * Self.wordsInFile else {
                    throw WrongByte(description: "\(path): length")
                }
            }
        }
    }

    func remove() throws {
        try forAllFolders { [self] folder in
            for number in filesIn(folder: folder) {
                guard unsafe unlink(file(number, in: folder)) == 0 else { throw Errno.current }
            }
            guard unsafe rmdir(self.folder(folder)) == 0 else { throw Errno.current }
        }
        for group in 0..<(folders + Self.foldersInGroup - 1) / Self.foldersInGroup {
            guard unsafe rmdir("\(path)/group \(group)") == 0 else { throw Errno.current }
        }
        guard unsafe rmdir(path) == 0 else { throw Errno.current }
    }

    private func forAllFolders(_ body: @escaping @Sendable (Int) throws -> Void) throws {
        let next = Atomic<Int>(0)
        let work: @Sendable () -> Void = { [folders] in
            do {
                while true {
                    let folder = next.add(1, ordering: .relaxed).oldValue
                    guard folder < folders else { return }
                    try body(folder)
                }
            } catch { fail(error) }
        }
        runInParallel(threads, work)
    }

    private func makeFolder(_ path: String) throws(Errno) {
        guard unsafe mkdir(path, 0o755) == 0 else { throw Errno.current }
    }
}
