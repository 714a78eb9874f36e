import Glibc
import Posix
import Store

extension StoreProbe {
    func tryListing() {
        preparing(.listing) { () throws(Errno) in
            try make(Self.listed)
            // Some stores list a new name late: only the call counts.
            note(.listing) { () throws(Errno) in
                _ = try store.entries(of: folder)
                return .yes
            }
        }
    }

    func tryCreation() {
        preparing(.exclusiveCreate) { () throws(Errno) in
            try make("exclusive")
            note(.exclusiveCreate) { () throws(Errno) in
                do throws(Errno) { try make("exclusive") } catch .EEXIST { return .yes }
                return .no
            }
        }
    }

    func tryInodes() {
        preparing(.inodeOfOpenFile, .inodeAfterRename, .inodeAfterReopening) { () throws(Errno) in
            try make("before", "x")
            let first = try inodeWhileOpen()
            note(.inodeAfterReopening) { () throws(Errno) in
                try inode(of: open("after")) == first ? .yes : .no
            }
        }
    }

    /// Opens the file, renames it, and returns the number that it had when it was opened.
    private func inodeWhileOpen() throws(Errno) -> UInt64 {
        let file = try open("before")
        let inode = try inode(of: file)
        note(.inodeOfOpenFile) { () throws(Errno) in try self.inode(of: "before") == inode ? .yes : .no }
        note(.renameOpenFile) { () throws(Errno) in
            try store.rename("before", in: folder, to: "after", in: folder)
            return .yes
        }
        if let errno = facts[.renameOpenFile].errno { throw errno }
        note(.inodeAfterRename) { () throws(Errno) in
            let (ofName, ofFile) = (try self.inode(of: "after"), try self.inode(of: file))
            return ofName == inode && ofFile == inode ? .yes : .no
        }
        return inode
    }

    func tryRename() {
        preparing(.renameOver) { () throws(Errno) in
            try make("old", "old")
            try make("new", "new")
            // A store may keep what it has once read.
            _ = try read(open("old"))
            note(.renameOver) { () throws(Errno) in
                try store.rename("new", in: folder, to: "old", in: folder)
                let isReplaced = try read(open("old")) == "new"
                do throws(Errno) { _ = try inode(of: "new") } catch .ENOENT { return isReplaced ? .yes : .no }
                return .no
            }
        }
    }

    /// Writes to an open file after another has taken its name: each of both must keep its contents. A write also makes
    /// the kernel ask the store for the size, which it may have kept.
    func tryOpenFiles() {
        preparing(.openFileAfterReplacement) { () throws(Errno) in
            try make("replaced", "replaced")
            try make("replacing", "new")
            let file = try open("replaced", O_RDWR)
            try store.rename("replacing", in: folder, to: "replaced", in: folder)
            note(.openFileAfterReplacement) { () throws(Errno) in
                try write("R", to: file, at: 0)
                let (own, size) = (try read(file), try store.status(of: file).size)
                let ofName = try read(open("replaced"))
                return own == "Replaced" && size == 8 && ofName == "new" ? .yes : .no
            }
        }
    }

    func tryLinks() {
        let target = Array("target".utf8)
        note(.symbolicLinks) { () throws(Errno) in
            try store.makeSymbolicLink(to: target, "symbolic", in: folder)
            return try store.readSymbolicLink("symbolic", in: folder) == target ? .yes : .no
        }
        if facts[.symbolicLinks].isYes { tryLinkRename() }
        preparing(.hardLinks, .inodeOfHardLinks) { () throws(Errno) in
            try make("link", "x")
            note(.hardLinks) { () throws(Errno) in
                try store.link("link", in: folder, to: "other", in: folder)
                return .yes
            }
            guard facts[.hardLinks].isYes else { return }
            note(.inodeOfHardLinks) { () throws(Errno) in
                try inode(of: "link") == inode(of: "other") ? .yes : .no
            }
        }
    }

    /// As the class of a folder is changed. The old link was read, so a store may have kept its target.
    private func tryLinkRename() {
        let target = Array("another target".utf8)
        preparing(.symbolicLinkRenameOver) { () throws(Errno) in
            try store.makeSymbolicLink(to: target, "replacement", in: folder)
            note(.symbolicLinkRenameOver) { () throws(Errno) in
                try store.rename("replacement", in: folder, to: "symbolic", in: folder)
                return try store.readSymbolicLink("symbolic", in: folder) == target ? .yes : .no
            }
        }
    }

    func tryCase() {
        preparing(.caseSensitive) { () throws(Errno) in
            try make("case")
            note(.caseSensitive) { () throws(Errno) in
                do throws(Errno) { _ = try inode(of: "CASE") } catch .ENOENT { return .yes }
                return .no
            }
        }
    }

    /// By halves between a length that every store takes and what the store says, which need not be true.
    func tryLongestName() {
        let said = min(Int(clamping: facts[.nameBytes].number ?? 255), Name.maximumCount)
        var (taken, refused) = (0, said + 1)
        var length = said
        while taken + 1 < refused {
            let name = Name(bytes: [UInt8](repeating: UInt8(ascii: "n"), count: length))
            do throws(Errno) {
                guard let name else { return }
                try make(name)
                try store.unlink(name, in: folder)
                taken = length
            } catch {
                guard [.ENAMETOOLONG, .EINVAL, .EIO, .ENOENT].contains(error) else {
                    return facts[.nameBytes] = StoreFact(refused: error)
                }
                refused = length
            }
            length = (taken + refused) / 2
        }
        facts[.nameBytes] = .number(taken)
    }
}
