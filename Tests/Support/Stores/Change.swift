public import Posix

/// A call that changes the store, or makes changes durable, with its arguments.
///
/// `File` is how it refers to a file: by a `Descriptor` while it runs, by a `RecordedInode` in a record.
public enum Change<File: Sendable>: Sendable {
    /// The target of a change of metadata: an open file, or an entry of an open directory.
    public enum Subject: Sendable {
        case file(File)
        case entry(Name, in: File)
    }

    /// Makes an empty regular file, which must not exist.
    case create(Name, in: File, mode: UInt32)
    case write([UInt8], to: File, at: Int64)
    case truncate(File, to: Int64)
    case allocate(File, mode: Int32, offset: Int64, length: Int64)
    case synchronize(File, dataOnly: Bool)
    case synchronizeAll
    case rename(Name, in: File, to: Name, newDirectory: File, flags: UInt32)
    case link(Name, in: File, to: Name, newDirectory: File)
    case unlink(Name, in: File)
    case removeDirectory(Name, in: File)
    case makeDirectory(Name, in: File, mode: UInt32)
    case makeNode(Name, in: File, mode: UInt32, device: UInt64)
    case makeSymbolicLink(to: [UInt8], Name, in: File)
    case setMode(UInt32, of: Subject)
    case setOwner(user: UInt32?, group: UInt32?, of: Subject)
    case setTimes(accessed: TimeChange, modified: TimeChange, of: Subject)
    case setAttribute(String, to: [UInt8], flags: Int32, of: File)
    case removeAttribute(String, of: File)
}

extension Change: Equatable, Hashable where File: Hashable {}
extension Change.Subject: Equatable, Hashable where File: Hashable {}

extension Change {
    /// The same change, with its files referred to in another way.
    public func map<Other, Failure: Error>(
        _ name: (File) throws(Failure) -> Other
    ) throws(Failure) -> Change<Other> {
        switch self {
        case .create(let entry, let directory, let mode): .create(entry, in: try name(directory), mode: mode)
        case .write(let bytes, let file, let offset): .write(bytes, to: try name(file), at: offset)
        case .truncate(let file, let size): .truncate(try name(file), to: size)
        case .allocate(let file, let mode, let offset, let length):
            .allocate(try name(file), mode: mode, offset: offset, length: length)
        case .synchronize(let file, let dataOnly): .synchronize(try name(file), dataOnly: dataOnly)
        case .synchronizeAll: .synchronizeAll
        case .rename(let old, let directory, let new, let newDirectory, let flags):
            .rename(old, in: try name(directory), to: new, newDirectory: try name(newDirectory), flags: flags)
        case .link(let old, let directory, let new, let newDirectory):
            .link(old, in: try name(directory), to: new, newDirectory: try name(newDirectory))
        case .unlink(let entry, let directory): .unlink(entry, in: try name(directory))
        case .removeDirectory(let entry, let directory): .removeDirectory(entry, in: try name(directory))
        case .makeDirectory(let entry, let directory, let mode):
            .makeDirectory(entry, in: try name(directory), mode: mode)
        case .makeNode(let entry, let directory, let mode, let device):
            .makeNode(entry, in: try name(directory), mode: mode, device: device)
        case .makeSymbolicLink(let target, let entry, let directory):
            .makeSymbolicLink(to: target, entry, in: try name(directory))
        case .setMode(let mode, let subject): .setMode(mode, of: try subject.map(name))
        case .setOwner(let user, let group, let subject):
            .setOwner(user: user, group: group, of: try subject.map(name))
        case .setTimes(let accessed, let modified, let subject):
            .setTimes(accessed: accessed, modified: modified, of: try subject.map(name))
        case .setAttribute(let attribute, let value, let flags, let file):
            .setAttribute(attribute, to: value, flags: flags, of: try name(file))
        case .removeAttribute(let attribute, let file): .removeAttribute(attribute, of: try name(file))
        }
    }
}

extension Change.Subject {
    func map<Other, Failure: Error>(
        _ name: (File) throws(Failure) -> Other
    ) throws(Failure) -> Change<Other>.Subject {
        switch self {
        case .file(let file): .file(try name(file))
        case .entry(let entry, let directory): .entry(entry, in: try name(directory))
        }
    }
}
