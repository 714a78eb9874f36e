import Glibc
import Posix

/// `scale make|read|remove FOLDER FILES FOLDERS [RARITY [THREADS]]`: makes, reads and checks, or removes a tree of
/// small files. One in RARITY files has contents. `scale handles FOLDER FILES THREADS SECONDS SEED`: files that stay
/// open, used by threads at once. `scale fill FILE MIB`: makes a file of this many bytes on the disk. `scale sparse
/// FILE MIB`: a file of that length that is nearly all holes. `scale holes FILE MIB`: a file of that length with data
/// at its beginning, in its middle and at its end, truncated in every part and made long again. `scale ends FILE MIB
/// SPAN`: accesses both ends of a file that `fill` or `sparse` has made, SPAN MiB each, and prints a line for each kind
/// of access, with the microseconds that an access took.
///
/// All contents follow from their offsets, so that a wrong byte is seen. Ends with status 1 at the first wrong byte,
/// and at any error.
@main
struct Main {
    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        let numbers = words.dropFirst(2).compactMap { Int($0) }
        do {
            switch (words.first, numbers.count) {
            case ("make", 2...4): try Tree(path: words[1], numbers).make()
            case ("read", 2...4): try Tree(path: words[1], numbers).read()
            case ("remove", 2...4): try Tree(path: words[1], numbers).remove()
            case ("handles", 4):
                try Handles(
                    in: words[1], files: numbers[0], seed: UInt64(numbers[3])
                ).run(threads: numbers[1], seconds: numbers[2])
            case ("fill", 1): try LargeFile(path: words[1], mebibytes: numbers[0]).fill()
            case ("sparse", 1): try LargeFile(path: words[1], mebibytes: numbers[0]).makeSparse()
            case ("holes", 1): try LargeFile(path: words[1], mebibytes: numbers[0]).useHoles()
            case ("ends", 2): try LargeFile(path: words[1], mebibytes: numbers[0]).useEnds(mebibytes: numbers[1])
            default:
                fail(
                    "make, read, remove, handles, fill, sparse, holes or ends; Tests/Scale/Main.swift says with what",
                    status: 2
                )
            }
        } catch { fail(error) }
    }
}

/// The bytes read differ from the bytes written.
struct WrongByte: Error, CustomStringConvertible {
    let description: String
}

func fail(_ error: any Error) -> Never {
    if let errno = error as? Errno { fail(errno.name) }
    fail("\(error)")
}

func fail(_ reason: String, status: Int32 = 1) -> Never {
    let text = Array("scale: \(reason)\n".utf8)
    _ = unsafe write(2, text, text.count)
    exit(status)
}
