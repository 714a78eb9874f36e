import Glibc
import Posix
import TestSupport

/// One of several processes that make random calls on one tree. Modelled on fsstress, whose processes keep to folders
/// of their own.
final class Stress {
    /// An open file. It stays valid whatever the others do to its name.
    struct Held {
        let file: Descriptor
        let isWritable: Bool
        /// For a message.
        let name: String
    }

    let root: String
    let isLocked: Bool
    var random: SeededRandom
    var held: [Held] = []
    private var (done, refused) = (0, 0)

    init(in root: String, seed: UInt64, isLocked: Bool) {
        self.root = root
        self.isLocked = isLocked
        random = SeededRandom(seed)
    }

    func act() {
        switch number(below: 100) {
        case 0..<12: openFile()
        case 12..<44: useHeld()
        case 44..<96: changeNames()
        default: look()
        }
        if held.count > 5 { close(held.remove(at: number(below: held.count))) }
    }

    /// Prints how many calls were made, and how many a race or a lock refused.
    func end() {
        while let last = held.popLast() { close(last) }
        print("done \(done) refused \(refused)")
    }

    // MARK: Chance

    func number(below bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }

    private static let folders: [Name] = ["x", "y", "z"]
    /// A long name too, which has a sidecar in the vault.
    private static let names: [Name] =
        folders + ["a", "b", "c", "d", "e", Name(bytes: Array(repeating: 0x6c, count: 220))!]

    func name() -> Name { Self.names.randomElement(using: &random)! }

    func folderName() -> Name { Self.folders.randomElement(using: &random)! }

    /// A folder of the tree if it exists and is one, also through symbolic links.
    func folder() -> Descriptor? {
        var path = root
        for _ in 0..<number(below: 3) { path += "/\(folderName())" }
        return attempt("open \(path)") { () throws(Errno) in
            try Descriptor.open(path: path, O_RDONLY | O_DIRECTORY)
        }
    }

    // MARK: Answers

    /// Errors that are explained by what other processes do to a name.
    private static let raced: Set<Errno> = [.ENOENT, .EEXIST, .ENOTDIR, .ENOTEMPTY, .EISDIR, .ELOOP]

    /// Makes a call on names. `needsKey` says whether a lock may refuse it.
    @discardableResult
    func attempt<Result>(
        _ what: @autoclosure () -> String, or others: Set<Errno> = [], needsKey: Bool = false,
        _ body: () throws(Errno) -> Result
    ) -> Result? {
        answer(what(), Self.raced.union(others), needsKey, body)
    }

    /// Makes a call on an open file, which only a lock may refuse.
    @discardableResult
    func demand<Result>(
        _ what: @autoclosure () -> String, or others: Set<Errno> = [], needsKey: Bool = true,
        _ body: () throws(Errno) -> Result
    ) -> Result? {
        answer(what(), others, needsKey, body)
    }

    private func answer<Result>(
        _ what: @autoclosure () -> String, _ explained: Set<Errno>, _ needsKey: Bool, _ body: () throws(Errno) -> Result
    ) -> Result? {
        do throws(Errno) {
            let result = try body()
            done += 1
            return result
        } catch {
            guard explained.contains(error) || error == .ENOKEY && needsKey && isLocked else {
                fail("\(what()): \(error.name)")
            }
            refused += 1
            return nil
        }
    }
}
