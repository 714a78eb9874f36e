import Posix
public import TestStores

/// Encodes records, from the process that makes them to the one that simulates power losses.
public enum RecordCoding {
    public static func encode(_ records: [Record], found: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(number: found)
        for record in records {
            bytes.append(number: record.made?.number ?? -1)
            bytes.append(record.change)
        }
        return bytes
    }

    /// Traps on bytes that `encode` did not make.
    public static func decode(_ bytes: [UInt8]) -> (records: [Record], found: Int) {
        var reader = Reader(bytes)
        let found = reader.number()
        var records: [Record] = []
        while !reader.isAtEnd {
            let made = reader.number()
            records.append(Record(reader.change(), made: made < 0 ? nil : RecordedInode(number: made)))
        }
        return (records, found)
    }
}

private enum Tag: Int {
    case create, write, truncate, allocate, synchronize, synchronizeAll, rename, link, unlink, removeDirectory
    case makeDirectory, makeNode, makeSymbolicLink, setMode, setOwner, setTimes, setAttribute, removeAttribute
}

extension [UInt8] {
    fileprivate mutating func append(number: Int) {
        for shift in stride(from: 0, to: 64, by: 8) { append(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    private mutating func begin(_ tag: Tag, _ numbers: Int...) {
        append(UInt8(tag.rawValue))
        for number in numbers { append(number: number) }
    }

    private mutating func append(_ bytes: [UInt8]) {
        append(number: bytes.count)
        append(contentsOf: bytes)
    }

    private mutating func append(_ name: Name, _ directory: RecordedInode) {
        append(name.bytes)
        append(number: directory.number)
    }

    private mutating func append(_ subject: Change<RecordedInode>.Subject) {
        switch subject {
        case .file(let file):
            append(number: 0)
            append(number: file.number)
        case .entry(let name, let directory):
            append(number: 1)
            append(name, directory)
        }
    }

    fileprivate mutating func append(_ change: Change<RecordedInode>) {
        switch change {
        case .create(let name, let directory, let mode):
            begin(.create, Int(mode))
            append(name, directory)
        case .write(let bytes, let file, let offset):
            begin(.write, file.number, Int(offset))
            append(bytes)
        case .truncate(let file, let size): begin(.truncate, file.number, Int(size))
        case .allocate(let file, let mode, let offset, let length):
            begin(.allocate, file.number, Int(mode), Int(offset), Int(length))
        case .synchronize(let file, let dataOnly): begin(.synchronize, file.number, dataOnly ? 1 : 0)
        case .synchronizeAll: begin(.synchronizeAll)
        case .rename(let old, let directory, let new, let newDirectory, let flags):
            begin(.rename, Int(flags))
            append(old, directory)
            append(new, newDirectory)
        case .link(let old, let directory, let new, let newDirectory):
            begin(.link)
            append(old, directory)
            append(new, newDirectory)
        case .unlink(let name, let directory):
            begin(.unlink)
            append(name, directory)
        case .removeDirectory(let name, let directory):
            begin(.removeDirectory)
            append(name, directory)
        case .makeDirectory(let name, let directory, let mode):
            begin(.makeDirectory, Int(mode))
            append(name, directory)
        case .makeNode(let name, let directory, let mode, let device):
            begin(.makeNode, Int(mode), Int(device))
            append(name, directory)
        case .makeSymbolicLink(let target, let name, let directory):
            begin(.makeSymbolicLink)
            append(target)
            append(name, directory)
        case .setMode(let mode, let subject):
            begin(.setMode, Int(mode))
            append(subject)
        case .setOwner(let user, let group, let subject):
            begin(.setOwner, user.map { Int($0) } ?? -1, group.map { Int($0) } ?? -1)
            append(subject)
        // The access time does not matter to a crash.
        case .setTimes(_, let modified, let subject):
            switch modified {
            case .keep: begin(.setTimes, 0)
            case .now: begin(.setTimes, 1)
            case .at(let time): begin(.setTimes, 2, Int(time.seconds), Int(time.nanoseconds))
            }
            append(subject)
        case .setAttribute(let name, let value, let flags, let file):
            begin(.setAttribute, file.number, Int(flags))
            append(Array(name.utf8))
            append(value)
        case .removeAttribute(let name, let file):
            begin(.removeAttribute, file.number)
            append(Array(name.utf8))
        }
    }
}

private struct Reader {
    private let bytes: [UInt8]
    private var offset = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { offset == bytes.count }

    mutating func number() -> Int {
        var value: UInt64 = 0
        for index in 0..<8 { value |= UInt64(bytes[offset + index]) << UInt64(8 * index) }
        offset += 8
        return Int(Int64(bitPattern: value))
    }

    private mutating func array() -> [UInt8] {
        let count = number()
        defer { offset += count }
        return Array(bytes[offset..<offset + count])
    }

    private mutating func inode() -> RecordedInode { RecordedInode(number: number()) }
    private mutating func name() -> Name { Name(bytes: array())! }
    private mutating func text() -> String { String(decoding: array(), as: UTF8.self) }

    private mutating func subject() -> Change<RecordedInode>.Subject {
        number() == 0 ? .file(inode()) : .entry(name(), in: inode())
    }

    mutating func change() -> Change<RecordedInode> {
        let tag = Tag(rawValue: Int(bytes[offset]))!
        offset += 1
        // Swift evaluates arguments in order, so the fields are read in order.
        switch tag {
        case .create:
            let mode = UInt32(number())
            return .create(name(), in: inode(), mode: mode)
        case .write:
            let (file, offset) = (inode(), Int64(number()))
            return .write(array(), to: file, at: offset)
        case .truncate: return .truncate(inode(), to: Int64(number()))
        case .allocate:
            return .allocate(inode(), mode: Int32(number()), offset: Int64(number()), length: Int64(number()))
        case .synchronize: return .synchronize(inode(), dataOnly: number() == 1)
        case .synchronizeAll: return .synchronizeAll
        case .rename:
            let flags = UInt32(number())
            return .rename(name(), in: inode(), to: name(), newDirectory: inode(), flags: flags)
        case .link: return .link(name(), in: inode(), to: name(), newDirectory: inode())
        case .unlink: return .unlink(name(), in: inode())
        case .removeDirectory: return .removeDirectory(name(), in: inode())
        case .makeDirectory:
            let mode = UInt32(number())
            return .makeDirectory(name(), in: inode(), mode: mode)
        case .makeNode:
            let (mode, device) = (UInt32(number()), UInt64(number()))
            return .makeNode(name(), in: inode(), mode: mode, device: device)
        case .makeSymbolicLink: return .makeSymbolicLink(to: array(), name(), in: inode())
        case .setMode: return .setMode(UInt32(number()), of: subject())
        case .setOwner:
            return .setOwner(user: UInt32(exactly: number()), group: UInt32(exactly: number()), of: subject())
        case .setTimes:
            let modified: TimeChange =
                switch number() {
                case 0: .keep
                case 1: .now
                default: .at(Timespec(seconds: Int64(number()), nanoseconds: Int64(number())))
                }
            return .setTimes(accessed: .keep, modified: modified, of: subject())
        case .setAttribute:
            let (file, flags) = (inode(), Int32(number()))
            return .setAttribute(text(), to: array(), flags: flags, of: file)
        case .removeAttribute:
            let file = inode()
            return .removeAttribute(text(), of: file)
        }
    }
}
