import Glibc
import Posix
import Store

extension StoreProbe {
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
        try store.rename("before", in: folder, to: "after", in: folder)
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
            note(.renameOver) { () throws(Errno) in
                try store.rename("new", in: folder, to: "old", in: folder)
                let isReplaced = try read(open("old")) == "new"
                do throws(Errno) { _ = try inode(of: "new") } catch .ENOENT { return isReplaced ? .yes : .no }
                return .no
            }
        }
    }

    func tryLinks() {
        let target = Array("target".utf8)
        note(.symbolicLinks) { () throws(Errno) in
            try store.makeSymbolicLink(to: target, "symbolic", in: folder)
            return try store.readSymbolicLink("symbolic", in: folder) == target ? .yes : .no
        }
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
