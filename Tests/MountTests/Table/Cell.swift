import TestSupport
import Testing

/// One cell of the table: a file of the class, brought to the state, and the call that is made there.
struct Cell {
    static let size = 10_000
    /// The handle of a file that receives copied bytes.
    static let scratch = 61
    static let patch = [UInt8](repeating: 0x5a, count: 200)

    let call: Call
    let number: Int
    let probe: Probe
    /// A directory whose default class is the cell's.
    let directory: String

    var path: String { "\(directory)/cell-\(number)" }
    var created: String { "\(directory)/created-\(number)" }
    var moved: String { "\(directory)/moved-\(number)" }
    var original: [UInt8] { [UInt8](seed: number + 1, count: Cell.size) }

    // MARK: Before

    /// The file, made and closed.
    func makeFile() throws {
        try probe.write(path, original)
        try probe.ask("setxattr", path, "user.note", Array("a note".utf8).hexadecimal).required("setxattr")
    }

    /// The handle for the call, opened while that is allowed; it creates the file if there is none.
    func openHandle() throws {
        let isNew = try !probe.exists(path)
        try probe.open(number, path, call == .readDirect ? "rw,creat,direct" : "rw,creat").required("opening \(path)")
        if isNew {
            try probe.pwrite(number, 0, original).required("writing \(path)")
        }
        if call == .synchronize || call == .close {
            // The next fsync or close must keep the bytes that write(2) acknowledged.
            try probe.pwrite(number, 4000, Cell.patch).required("writing \(path)")
        }
        guard call.needsMapping else { return }
        try probe.map(number, number, 12_288, call == .touchPrivate ? "private" : "shared").required("mapping \(path)")
        for page in 0..<3 {
            try probe.touch(number, page * 4096, 1).required("touching \(path)")
        }
        if call == .touchClosed {
            try probe.close(number).required("closing \(path)")
        }
    }

    // MARK: The call

    /// Makes the call; checks the result of a successful one.
    func perform() throws -> Answer {
        switch call {
        case .create: try create()
        case .open, .openWhileHeld: try probe.read(path).expecting(original, self)
        case .openToTruncate: try openToTruncate()
        case .read: try probe.pread(number, 0, 20_000).expecting(original, self)
        case .write: try probe.pwrite(number, 4000, Cell.patch)
        case .seekToEnd: try probe.ask("lseek", "\(number)", "0", "end").expecting("\(Cell.size)", self)
        case .truncateHandle: try probe.ask("ftruncate", "\(number)", "5000")
        case .allocateHandle: try probe.ask("fallocate", "\(number)", "0", "0", "20000")
        case .copyRange:
            try probe.ask("copyrange", "\(number)", "0", "\(Cell.scratch)", "0", "20000").expecting("10000", self)
        case .sendFile: try probe.ask("sendfile", "\(number)", "\(Cell.scratch)", "20000").expecting("10000", self)
        case .readDirect: try probe.pread(number, 0, 20_000).expecting(original, self)
        case .synchronize: try probe.fsync(number)
        case .close: try probe.close(number)
        case .touchShared, .touchPrivate, .touchClosed:
            try probe.touch(number, 4090, 5910).expecting(Array(original[4090...]), self)
        case .store: try probe.store(number, 4000, Cell.patch)
        case .shrink: try probe.ask("truncate", path, "100")
        case .grow: try probe.ask("truncate", path, "50000")
        case .setComplete, .setCompleteUnlessOpen, .setCompleteUntilFirst, .setNone:
            try probe.setClass(call.newClass!.rawValue, of: path)
        case .status: try status()
        case .list: try list()
        case .rename: try probe.rename(path, moved)
        case .link: try probe.ask("link", path, moved)
        case .unlink: try probe.ask("unlink", path)
        case .changeMode: try probe.ask("chmod", path, "0600")
        case .changeOwner: try probe.ask("chown", path, "12", "34")
        case .changeTimes: try probe.ask("utimens", path, "1234567890123456789")
        case .getClass: try probe.ask("getxattr", path, Probe.classAttribute)
        case .getAttribute:
            try probe.ask("getxattr", path, "user.note").expecting(Array("a note".utf8), self)
        case .setAttribute: try probe.ask("setxattr", path, "user.note", "6e6577")
        case .listAttributes: try probe.ask("listxattr", path)
        }
    }

    private func create() throws -> Answer {
        let answer = try probe.open(62, created, "rw,creat,excl")
        if answer.succeeded {
            try probe.pwrite(62, 0, original).required("writing the created file")
            try probe.fsync(62).required("syncing the created file")
            try probe.close(62).required("closing the created file")
        } else {
            #expect(try probe.ask("stat", created) == .refused("ENOENT"), "\(self): a name is left behind")
            #expect(try !probe.list(directory).contains("created-\(number)"), "\(self): a name is left in readdir")
        }
        return answer
    }

    private func openToTruncate() throws -> Answer {
        let answer = try probe.open(62, path, "rw,trunc")
        if answer.succeeded {
            try probe.close(62).required("closing")
        }
        return answer
    }

    private func status() throws -> Answer {
        let answer = try probe.ask("stat", path)
        #expect(try answer.words()[1] == "\(Cell.size)", "\(self): the size")
        return answer
    }

    private func list() throws -> Answer {
        #expect(try probe.list(directory).contains("cell-\(number)"), "\(self)")
        return .ok()
    }

    // MARK: After

    /// What the file must hold in the end, whether the call was allowed or not.
    func contents(allowed: Bool) -> [UInt8] {
        var bytes = original
        if call == .synchronize || call == .close || allowed && (call == .write || call == .store) {
            bytes.replaceSubrange(4000..<4000 + Cell.patch.count, with: Cell.patch)
        }
        guard allowed else { return bytes }
        switch call {
        case .openToTruncate: return []
        case .truncateHandle: return Array(bytes[..<5000])
        case .shrink: return Array(bytes[..<100])
        case .grow: return bytes + [UInt8](repeating: 0, count: 50_000 - Cell.size)
        case .allocateHandle: return bytes + [UInt8](repeating: 0, count: 20_000 - Cell.size)
        default: return bytes
        }
    }

    /// Checks, unlocked, that the file has the right contents; an earlier handle or mapping must work again.
    func verify(allowed: Bool, class protection: ProtectionClass) throws {
        let expected = contents(allowed: allowed)
        if call == .create && allowed {
            #expect(try probe.contents(created) == original, "\(self): the created file's contents")
            #expect(try probe.classOf(created) == protection.rawValue, "\(self): the created file's class")
        }
        if call == .unlink && allowed {
            #expect(try !probe.exists(path), "\(self)")
            return
        }
        let path = call == .rename && allowed ? moved : path
        #expect(try probe.contents(path) == expected, "\(self): the contents afterwards")
        let newClass = allowed ? call.newClass ?? protection : protection
        #expect(try probe.classOf(path) == newClass.rawValue, "\(self): the class afterwards")
        if call.needsMapping {
            #expect(try probe.touch(number, 4000, 5).bytes() == Array(expected[4000..<4005]), "\(self): the mapping")
        } else if call.needsHandle && call != .close {
            #expect(try probe.pread(number, 0, 30_000).bytes() == expected, "\(self): the handle")
        }
        if call == .link && allowed {
            #expect(try probe.contents(moved) == expected, "\(self): the new link")
        }
    }
}

extension Cell: CustomStringConvertible {
    var description: String { call.rawValue }
}

extension Answer {
    /// This answer; a success must have returned these bytes.
    fileprivate func expecting(_ bytes: [UInt8], _ cell: Cell) throws -> Answer {
        if succeeded {
            #expect(try self.bytes() == bytes, "\(cell): the bytes")
        }
        return self
    }

    fileprivate func expecting(_ text: String, _ cell: Cell) throws -> Answer {
        if succeeded {
            #expect(self == .ok(text), "\(cell)")
        }
        return self
    }
}
