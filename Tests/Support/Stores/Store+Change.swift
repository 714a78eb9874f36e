import Glibc
public import Posix
public import Store

extension Store {
    /// Makes a change.
    public func apply(_ change: Change<Descriptor>) throws(Errno) {
        switch change {
        case .create(let name, let directory, let mode):
            _ = try open(name, in: directory, O_RDWR | O_CREAT | O_EXCL, mode: mode)
        case .write(let bytes, let file, let offset):
            try unsafe write(bytes.span.bytes, to: file, at: offset)
        case .truncate(let file, let size):
            try truncate(file, to: size)
        case .allocate(let file, let mode, let offset, let length):
            try allocate(file, mode: mode, offset: offset, length: length)
        case .synchronize(let file, let dataOnly):
            try synchronize(file, dataOnly: dataOnly)
        case .synchronizeAll:
            try synchronizeAll()
        case .rename(let old, let directory, let new, let newDirectory, let flags):
            try rename(old, in: directory, to: new, in: newDirectory, flags: flags)
        case .link(let old, let directory, let new, let newDirectory):
            try link(old, in: directory, to: new, in: newDirectory)
        case .unlink(let name, let directory):
            try unlink(name, in: directory)
        case .removeDirectory(let name, let directory):
            try removeDirectory(name, in: directory)
        case .makeDirectory(let name, let directory, let mode):
            try makeDirectory(name, in: directory, mode: mode)
        case .makeNode(let name, let directory, let mode, let device):
            try makeNode(name, in: directory, mode: mode, device: device)
        case .makeSymbolicLink(let target, let name, let directory):
            try makeSymbolicLink(to: target, name, in: directory)
        case .setMode(let mode, .file(let file)):
            try setMode(mode, of: file)
        case .setMode(let mode, .entry(let name, let directory)):
            try setMode(mode, of: name, in: directory)
        case .setOwner(let user, let group, .file(let file)):
            try setOwner(user: user, group: group, of: file)
        case .setOwner(let user, let group, .entry(let name, let directory)):
            try setOwner(user: user, group: group, of: name, in: directory)
        case .setTimes(let accessed, let modified, .file(let file)):
            try setTimes(accessed: accessed, modified: modified, of: file)
        case .setTimes(let accessed, let modified, .entry(let name, let directory)):
            try setTimes(accessed: accessed, modified: modified, of: name, in: directory)
        case .setAttribute(let attribute, let value, let flags, let file):
            try setAttribute(attribute, to: value, flags: flags, of: file)
        case .removeAttribute(let attribute, let file):
            try removeAttribute(attribute, of: file)
        }
    }
}
