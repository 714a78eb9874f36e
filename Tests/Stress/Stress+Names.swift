import CLinux
import Format
import Glibc
import Posix

// Calls that make, move, mark and remove names.
extension Stress {
    func changeNames() {
        guard let folder = folder() else { return }
        let name = name()
        switch number(below: 40) {
        case 0..<7: makeFolder(in: folder)
        case 7..<10: attempt("rmdir \(name)") { () throws(Errno) in try folder.removeDirectory(name) }
        case 10..<13: attempt("unlink \(name)") { () throws(Errno) in try folder.unlink(name) }
        case 13..<21: rename(folder, name)
        case 21..<24: link(folder, name)
        case 24, 25: symbolicLink(folder, name)
        case 26, 27:
            let kind = [FileKind.fifo, .socket, .regular].randomElement(using: &random)!
            attempt("mknod \(name) \(kind)", needsKey: kind == .regular) { () throws(Errno) in
                try folder.makeNode(name, mode: kind.mode | 0o600, device: 0)
            }
        case 28..<31: nameless(folder, name)
        case 31..<35: attributes(folder, name)
        case 35, 36: protect(folder, name)
        case 37:
            // A symbolic link has no permissions.
            let mode = UInt32(0o700 | number(below: 0o100))
            attempt("chmod \(name)", or: [.EOPNOTSUPP]) { () throws(Errno) in try folder.setMode(mode, of: name) }
        case 38:
            let time = TimeChange.at(Timespec(seconds: Int64(number(below: 1 << 30)), nanoseconds: 5))
            attempt("utimens \(name)") { () throws(Errno) in
                try folder.setTimes(accessed: time, modified: time, of: name)
            }
        default:
            demand("fsync of a folder", needsKey: false) { () throws(Errno) in
                try folder.synchronize(dataOnly: false)
            }
        }
    }

    private func makeFolder(in folder: Descriptor) {
        let name = folderName()
        attempt("mkdir \(name)") { () throws(Errno) in try folder.makeDirectory(name, mode: 0o755) }
    }

    /// EINVAL: a folder would move into itself. A replaced file of an explicit class needs a key.
    private func rename(_ folder: Descriptor, _ name: Name) {
        guard let other = self.folder() else { return }
        let new = self.name()
        let flags = [0, 0, RENAME_NOREPLACE, RENAME_EXCHANGE].randomElement(using: &random)!
        attempt("rename \(name) to \(new), flags \(flags)", or: [.EINVAL], needsKey: true) { () throws(Errno) in
            try folder.rename(name, to: new, in: other, flags: flags)
        }
    }

    /// EPERM: a folder.
    private func link(_ folder: Descriptor, _ name: Name) {
        guard let other = self.folder() else { return }
        let new = self.name()
        attempt("link \(name) to \(new)", or: [.EPERM]) { () throws(Errno) in
            try folder.link(name, to: new, in: other)
        }
    }

    private func symbolicLink(_ folder: Descriptor, _ name: Name) {
        let target = [self.name().description, "../\(self.name())", "\(folderName())/\(self.name())"]
            .randomElement(using: &random)!
        attempt("symlink \(name)") { () throws(Errno) in
            try folder.makeSymbolicLink(to: Array(target.utf8), name)
        }
    }

    /// A file without a name, which may get one.
    private func nameless(_ folder: Descriptor, _ name: Name) {
        let unnamed: Int32 = 0o20_000_000 | O_DIRECTORY
        let path = "/proc/self/fd/\(folder.number)"
        guard
            let file = attempt(
                "open without a name", needsKey: true,
                { () throws(Errno) in try Descriptor.open(path: path, unnamed | O_RDWR, mode: 0o644) })
        else { return }
        hold(file, isWritable: true, "nameless")
        write()
        guard number(below: 3) > 0 else { return }
        attempt("link of a nameless file to \(name)") { () throws(Errno) in
            let result = unsafe name.withCString { name in
                unsafe linkat(AT_FDCWD, "/proc/self/fd/\(file.number)", folder.number, name, AT_SYMLINK_FOLLOW)
            }
            guard result == 0 else { throw Errno.current }
        }
    }

    /// Only files and folders have attributes: EPERM, EOPNOTSUPP.
    private func attributes(_ folder: Descriptor, _ name: Name) {
        guard let file = attempt("open \(name)", { () throws(Errno) in try folder.open(name, O_PATH) }) else { return }
        let attribute = "user.\(number(below: 4))"
        let value = [UInt8](repeating: 0x76, count: number(below: 200))
        let others: Set<Errno> = [.ENODATA, .EPERM, .EOPNOTSUPP]
        switch number(below: 4) {
        case 0, 1:
            attempt("setxattr \(name)", or: others) { () throws(Errno) in try file.setAttribute(attribute, to: value) }
        case 2:
            let value = attempt("getxattr \(name)", or: others) { () throws(Errno) in try file.attribute(attribute) }
            guard value?.allSatisfy({ $0 == 0x76 }) != false else { fail("getxattr \(name): not what was set") }
        default:
            attempt("removexattr \(name)", or: others) { () throws(Errno) in try file.removeAttribute(attribute) }
        }
    }

    private func protect(_ folder: Descriptor, _ name: Name) {
        guard let file = attempt("open \(name)", { () throws(Errno) in try folder.open(name, O_PATH) }) else { return }
        let others: Set<Errno> = [.ENODATA, .EPERM, .EOPNOTSUPP]
        if number(below: 4) == 0 {
            attempt("class of \(name), removed", or: others, needsKey: true) { () throws(Errno) in
                try file.removeAttribute(ProtectionClass.attributeName)
            }
        } else {
            let value = ProtectionClass.allCases.randomElement(using: &random)!.name
            attempt("class of \(name)", or: others, needsKey: true) { () throws(Errno) in
                try file.setAttribute(ProtectionClass.attributeName, to: Array(value.utf8))
            }
        }
    }

    /// Reads names and what stat(2) tells of them.
    func look() {
        guard let folder = folder() else { return }
        let name = name()
        switch number(below: 5) {
        case 0: attempt("stat \(name)") { () throws(Errno) in try folder.status(of: name) }
        case 1: attempt("readlink \(name)", or: [.EINVAL]) { () throws(Errno) in try folder.readSymbolicLink(name) }
        case 2: demand("syncfs", needsKey: false) { () throws(Errno) in try folder.synchronizeFileSystem() }
        default:
            // A file that was removed meanwhile cannot be opened or read again.
            let entries = attempt("readdir") { () throws(Errno) in try folder.entries() } ?? []
            guard Set(entries.map(\.name)).count == entries.count || entries.count > 9 else {
                fail("readdir: a name twice: \(entries.map(\.name))")
            }
        }
    }
}
