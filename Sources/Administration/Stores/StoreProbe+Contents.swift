import Glibc
import Posix
import Store

extension StoreProbe {
    /// As a backing file is written: a block behind the end, then one before it, then a part of that one.
    func tryRandomWrites() {
        note(.randomWrites) { () throws(Errno) in
            try writeAnywhere("random")
            let text = try read(open("random"), upTo: 8194)
            let isSame =
                text.utf8.count == 8193 && text.hasPrefix("aXc") && text.hasSuffix("z")
                && text.utf8.dropFirst(3).dropLast().allSatisfy { $0 == 0 }
            return isSame ? .yes : .no
        }
    }

    private func writeAnywhere(_ name: Name) throws(Errno) {
        let file = try open(name, O_RDWR | O_CREAT | O_EXCL)
        try write("z", to: file, at: 8192)
        try write("abc", to: file, at: 0)
        try write("X", to: file, at: 1)
    }

    func trySynchronizing() {
        preparing(.syncFile) { () throws(Errno) in
            let file = try open("synchronized", O_WRONLY | O_CREAT)
            try write("x", to: file, at: 0)
            note(.syncFile) { () throws(Errno) in
                try store.synchronize(file, dataOnly: false)
                try write("y", to: file, at: 1)
                try store.synchronize(file, dataOnly: true)
                return .yes
            }
        }
        note(.syncFolder) { () throws(Errno) in
            try store.synchronize(folder, dataOnly: false)
            return .yes
        }
    }

    func tryUnlink() {
        preparing(.readAfterUnlink) { () throws(Errno) in
            try make("removed", "still here")
            let file = try open("removed")
            note(.readAfterUnlink) { () throws(Errno) in
                try store.unlink("removed", in: folder)
                return try read(file) == "still here" ? .yes : .no
            }
        }
    }

    func tryNamelessFile() {
        note(.namelessFiles) { () throws(Errno) in
            _ = try open(.current, O_TMPFILE | O_RDWR)
            return .yes
        }
    }

    private static var holeSize: Int64 { 1 << 20 }

    func tryHoles() {
        preparing(.holes, .seekHole, .punchHole) { () throws(Errno) in
            let file = try open("holes", O_WRONLY | O_CREAT)
            try write("x", to: file, at: Self.holeSize)
            // Some file systems count blocks only when they are written.
            try store.synchronize(file, dataOnly: false)
            note(.holes) { () throws(Errno) in
                try store.status(of: file).blocks * 512 < Self.holeSize / 2 ? .yes : .no
            }
            note(.seekHole) { () throws(Errno) in
                try store.nextHole(of: file, from: 0) == 0 ? .yes : .no
            }
            try write(String(repeating: "x", count: 65_536), to: file, at: 0)
            note(.punchHole) { () throws(Errno) in
                try store.allocate(
                    file, mode: FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset: 0, length: 32_768)
                return .yes
            }
        }
    }

    func tryLocks() {
        preparing(.flock, .descriptionLocks) { () throws(Errno) in
            try make("locked")
            let (first, second) = (try open("locked", O_WRONLY), try open("locked", O_WRONLY))
            note(.flock) { () throws(Errno) in
                try store.lockExclusively(first)
                do throws(Errno) { try store.lockExclusively(second) } catch .EWOULDBLOCK { return .yes }
                return .no
            }
        }
        // Locks of both kinds on one open file would hide each other where a store makes one of the other.
        preparing(.descriptionLocks) { () throws(Errno) in
            try make("described")
            let (first, second) = (try open("described", O_WRONLY), try open("described", O_WRONLY))
            note(.descriptionLocks) { () throws(Errno) in
                try first.lockDescription()
                return try second.isDescriptionLocked() ? .yes : .no
            }
        }
    }
}
