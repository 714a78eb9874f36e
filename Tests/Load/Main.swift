import CLinux
import Format
import Glibc
import TestSupport

/// `load FOLDER SEED`
///
/// Writes, truncates, syncs, saves, moves, makes and removes files in a folder until a call is refused. It prints what
/// it is about to do, a line each, and "." when that was acknowledged; `LoadOracle` of the mount tests explains the
/// lines. At the end it prints "refused" and the error number.
@main
struct Main {
    static func main() {
        let arguments = CommandLine.arguments
        guard arguments.count == 3, let seed = UInt64(arguments[2]) else { exit(2) }
        signal(SIGPIPE, SIG_IGN)
        do throws(Refusal) {
            var load = try Load(in: arguments[1], seed: seed)
            while true { try load.act() }
        } catch { say("refused \(error.number)") }
    }
}

struct Refusal: Error {
    let number: Int32
}

@discardableResult func must(_ result: Int) throws(Refusal) -> Int {
    guard result >= 0 else { throw Refusal(number: errno) }
    return result
}

@discardableResult func must(_ result: Int32) throws(Refusal) -> Int { try must(Int(result)) }

/// Writes all bytes: a full disk refuses what a short write leaves out.
func mustBe(_ count: Int, _ result: Int) throws(Refusal) {
    guard try must(result) == count else { throw Refusal(number: ENOSPC) }
}

func say(_ line: String) {
    let text = Array((line + "\n").utf8)
    _ = unsafe write(1, text, text.count)
}

struct Load {
    private let path: String
    private var random: SeededRandom
    private var files: [Int32] = []
    private var number: Int
    /// Files that exist in `new/`.
    private var made: [Int] = []

    init(in path: String, seed: UInt64) throws(Refusal) {
        self.path = path
        random = SeededRandom(seed)
        number = Int(seed % 1_000_000) * 1000
        for folder in ["docs", "new"] { unsafe mkdir("\(path)/\(folder)", 0o755) }
        try synchronizeFolder("")
        for index in 0..<3 { files.append(try openFile(index)) }
        try synchronizeFolder("")
    }

    /// The last file is written to synchronously.
    private static let synchronous = 2

    private func openFile(_ index: Int) throws(Refusal) -> Int32 {
        let flags = O_RDWR | O_CREAT | (index == Self.synchronous ? O_DSYNC : 0)
        return Int32(try must(unsafe open("\(path)/data\(index)", flags, 0o644)))
    }

    private func log(_ line: String, _ body: () throws(Refusal) -> Void) throws(Refusal) {
        say(line)
        try body()
        say(".")
    }

    private mutating func bytes(_ count: Int) -> (seed: UInt64, bytes: [UInt8]) {
        let seed = random.next() >> 1
        var source = SeededRandom(seed)
        return (seed, source.bytes(count))
    }

    mutating func act() throws(Refusal) {
        let index = Int.random(in: 0..<3, using: &random)
        let file = files[index]
        let length = try must(lseek(file, 0, SEEK_END))
        switch Int.random(in: 0..<22, using: &random) {
        case 0..<9:
            let count = [1, 300, 4096, 5000, 70_000].randomElement(using: &random)!
            let (seed, bytes) = bytes(count)
            let isAppend = Bool.random(using: &random) && length < 300_000
            let offset = isAppend ? length : Int.random(in: 0...min(length, 200_000), using: &random)
            try log("write \(index) \(offset) \(count) \(seed)") { () throws(Refusal) in
                try mustBe(count, unsafe pwrite(file, bytes, count, offset))
            }
            if index == Self.synchronous { try log("sync \(index)") {} }
        case 9..<14:
            let isDataOnly = Int.random(in: 0..<3, using: &random) == 0
            try log("sync \(index)") { () throws(Refusal) in try must(isDataOnly ? fdatasync(file) : fsync(file)) }
        case 14:
            let size = Int.random(in: 0...max(length, 1), using: &random)
            try log("truncate \(index) \(size)") { () throws(Refusal) in try must(ftruncate(file, size)) }
        case 15, 16:
            let (seed, bytes) = bytes(Int.random(in: 0...20_000, using: &random))
            try log("save \(index) \(bytes.count) \(seed)") { () throws(Refusal) in
                try make("docs/next", bytes)
                try must(unsafe rename("\(path)/docs/next", "\(path)/docs/\(index)"))
            }
            if Bool.random(using: &random) {
                try log("syncdocs") { () throws(Refusal) in try synchronizeFolder("docs") }
            }
        case 17:
            number += 1
            let (seed, bytes) = bytes(Int.random(in: 0...6000, using: &random))
            let name = Self.name(number)
            // The file's own fsync makes its name durable as well.
            let isFolderSynced = Bool.random(using: &random)
            try log("make \(number) \(bytes.count) \(seed)") { () throws(Refusal) in
                try make("new/\(name)", bytes)
                if isFolderSynced { try synchronizeFolder("new") }
            }
            made.append(number)
        case 18:
            guard made.count > 3 else { return }
            let old = made.removeFirst()
            try log("remove \(old)") { () throws(Refusal) in
                try must(unsafe unlink("\(path)/new/\(Self.name(old))"))
                try synchronizeFolder("new")
            }
        case 19:
            guard let last = made.popLast() else { return }
            number += 1
            let (old, new) = ("new/\(Self.name(last))", "new/\(Self.name(number))")
            let isFolderSynced = Bool.random(using: &random)
            try log("move \(last) \(number)") { () throws(Refusal) in
                try must(unsafe rename("\(path)/\(old)", "\(path)/\(new)"))
                try isFolderSynced ? synchronizeFolder("new") : synchronizeFile(new)
            }
            made.append(number)
        case 20:
            try log("reopen \(index)") { () throws(Refusal) in
                try must(close(file))
                files[index] = try openFile(index)
            }
        default:
            let name = ProtectionClass.allCases.randomElement(using: &random)!.name
            try log("class \(index)") { () throws(Refusal) in
                try must(unsafe lk_setxattr(file, ProtectionClass.attributeName, name, name.utf8.count, 0))
            }
        }
    }

    /// Every third name is long.
    private static func name(_ number: Int) -> String {
        number % 3 == 0 ? String(repeating: "long ", count: 40) + "\(number)" : "\(number)"
    }

    /// Makes a new file with contents, and syncs it.
    private func make(_ name: String, _ bytes: [UInt8]) throws(Refusal) {
        let file = Int32(try must(unsafe open("\(path)/\(name)", O_WRONLY | O_CREAT | O_TRUNC, 0o644)))
        defer { close(file) }
        try mustBe(bytes.count, unsafe write(file, bytes, bytes.count))
        try must(fsync(file))
    }

    private func synchronizeFile(_ name: String) throws(Refusal) {
        let file = Int32(try must(unsafe open("\(path)/\(name)", O_RDONLY)))
        defer { close(file) }
        try must(fsync(file))
    }

    private func synchronizeFolder(_ name: String) throws(Refusal) {
        let folder = Int32(try must(unsafe open("\(path)/\(name)", O_RDONLY | O_DIRECTORY)))
        defer { close(folder) }
        try must(fsync(folder))
    }
}
