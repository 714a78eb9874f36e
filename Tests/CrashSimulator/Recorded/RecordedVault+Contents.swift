public import Format
import Posix
import Store
import TestStores
import Vault

// Contents of files, their protection, and what makes them durable.

extension RecordedVault {
    public func write(_ bytes: [UInt8], to file: OpenFile, at offset: Int) throws {
        try log {
            try unsafe file.file.write(bytes.span.bytes, at: UInt64(offset))
            return (.write(file.inode, bytes, at: offset), ())
        }
    }

    public func append(_ bytes: [UInt8], to file: OpenFile) throws {
        try write(bytes, to: file, at: Int(file.file.length))
    }

    public func truncate(_ file: OpenFile, to size: Int) throws {
        try log {
            try file.file.truncate(to: UInt64(size))
            return (.truncate(file.inode, to: size), ())
        }
    }

    /// Makes a hole, which counts as a write of zeros.
    public func punch(_ range: Range<Int>, in file: OpenFile) throws {
        try log {
            let end = min(range.upperBound, Int(file.file.length))
            try file.file.punch(UInt64(range.lowerBound)..<UInt64(range.upperBound))
            let zeros = [UInt8](repeating: 0, count: max(0, end - range.lowerBound))
            return (.write(file.inode, zeros, at: zeros.isEmpty ? 0 : range.lowerBound), ())
        }
    }

    /// Writes to a store that may be full: the ledger notes what the file holds afterwards.
    public func tryToWrite(_ bytes: [UInt8], to file: OpenFile, at offset: Int) throws {
        let begin = store.recorder.count
        do {
            try write(bytes, to: file, at: offset)
        } catch let error as VaultError where error == .system(.ENOSPC) {
            let end = store.recorder.count
            ledger.append(.write(file.inode, bytes, at: offset), from: begin, to: end)
            ledger.append(.found(file.inode, try file.file.wholeContents()), from: begin, to: end)
        }
    }

    public func setClass(_ protectionClass: ProtectionClass, of file: OpenFile) throws {
        try log {
            try file.file.setClass(protectionClass)
            return (.protect(file.inode, protection(of: file.file)), ())
        }
    }

    public func setDefaultClass(_ protectionClass: ProtectionClass, of folder: Folder) throws {
        try log {
            try vault.setDefaultClass(protectionClass, isExplicit: true, of: folder.directory)
            return (.protect(folder.inode, Protection(protectionClass, isExplicit: true)), ())
        }
    }

    public func synchronize(_ file: OpenFile, dataOnly: Bool = false) throws {
        try log {
            try file.file.synchronize(dataOnly: dataOnly)
            return (.synchronize(file.inode, dataOnly: dataOnly), ())
        }
    }

    public func synchronize(_ folder: Folder? = nil) throws {
        let folder = folder ?? root
        try log {
            try vault.synchronize(folder.directory)
            return (.synchronize(folder.inode), ())
        }
    }

    /// As the daemon does from time to time, and for syncfs(2).
    public func synchronizeAll() throws {
        try log {
            try vault.synchronize()
            return (.synchronizeAll, ())
        }
    }
}
