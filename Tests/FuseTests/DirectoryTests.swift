import Glibc
import Posix
import Synchronization
import TestSupport
import Testing

extension FuseTests {
    @Test func listsFiveThousandEntries() throws {
        let mounted = try Mounted()
        let names = Set((0..<5000).map { "entry-\($0)" })
        for name in names { try mounted.source.create(try #require(Name(bytes: name.utf8))) }

        let stream = try DirectoryStream(mounted.path)
        var listed: [String] = []
        var marks: [Int: Int] = [:]
        while true {
            marks[listed.count] = stream.position
            guard let name = stream.next() else { break }
            listed.append(name)
            try #require(listed.count < 10_000, "the listing never ends")
        }
        #expect(listed.count == 5002)
        #expect(Set(listed) == names.union([".", ".."]))

        // Back to where it was, in any order.
        for count in [4999, 1, 2500, 0, 5001, 37] {
            stream.position = try #require(marks[count])
            #expect(stream.next() == listed[count])
            #expect(stream.next() == (count + 1 < listed.count ? listed[count + 1] : nil))
        }
        stream.rewind()
        #expect(stream.next() == listed[0])
        // The listing carried the attributes.
        #expect(try mounted.root.status(of: "entry-17").kind == .regular)
    }

    @Test func seesWhatOthersAddAfterRewinding() throws {
        let mounted = try Mounted()
        let stream = try DirectoryStream(mounted.path)
        for _ in 0..<10 where stream.next() == nil { break }
        try mounted.root.create("late")
        stream.rewind()
        var names: Set<String> = []
        for _ in 0..<10 {
            guard let name = stream.next() else { break }
            names.insert(name)
        }
        #expect(names == [".", "..", "late"])
    }

    /// Lookups, creations and listings of one directory from many threads.
    @Test func servesManyThreads() throws {
        let mounted = try Mounted()
        let failures = Mutex<[String]>([])
        let root = mounted.root
        let threads = Threads(8) { worker in
            do {
                for round in 0..<100 {
                    let name = try #require(Name(bytes: "file-\(worker)-\(round)".utf8))
                    let bytes = [UInt8](seed: worker * 1000 + round, count: 5000 + round)
                    try root.create(name, bytes)
                    if try root.contents(of: name) != bytes { throw HarnessError("wrong contents of \(name)") }
                    if round.isMultiple(of: 10) { _ = try root.entries() }
                    if round.isMultiple(of: 3) { try root.unlink(name) }
                }
            } catch {
                failures.withLock { $0.append("\(error)") }
            }
        }
        threads.join()
        #expect(failures.withLock { $0 } == [])
        #expect(try root.entries().count == 8 * 66)
        #expect(try mounted.source.entries().count == 8 * 66)
    }
}

/// An open directory, as readdir(3) sees it.
@safe
final class DirectoryStream {
    private let stream: OpaquePointer

    init(_ path: String) throws {
        guard let stream = unsafe opendir(path) else { throw Errno.current }
        unsafe self.stream = stream
    }

    deinit {
        unsafe closedir(stream)
    }

    var position: Int {
        get { unsafe telldir(stream) }
        set { unsafe seekdir(stream, newValue) }
    }

    func next() -> String? {
        guard let entry = unsafe readdir(stream) else { return nil }
        return unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
            unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
        }
    }

    func rewind() {
        unsafe rewinddir(stream)
    }
}
