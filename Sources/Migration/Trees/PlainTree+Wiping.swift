import Glibc
import Posix
import Store
import Vault

extension PlainTree {
    /// Writes zeros over originals, makes that durable, and removes them. Returns those that a program has changed
    /// meanwhile, which have their names again.
    ///
    /// Before the first byte is overwritten they lie, durably, in a folder of their own: what is there after a crash is
    /// no original any more.
    func wipe(_ removals: [(index: Int, removal: Removal<PlainTree>)]) throws(VaultError) -> [Int] {
        guard !removals.isEmpty else { return [] }
        for (_, removal) in removals {
            for place in removal.places { try rename(place.kept, in: removed, to: place.kept, in: wiped) }
        }
        try backing { () throws(Errno) in
            try store.synchronize(wiped, dataOnly: false)
            try store.synchronize(removed, dataOnly: false)
        }
        var changed: [Int] = []
        for (index, removal) in removals {
            guard let original = removal.original else { continue }
            // The rename above has moved the time of change.
            let now = try status(of: original)
            if original.isLeaseBroken || !now.hasSameContents(as: removal.status) {
                for place in removal.places { try putBack(place.kept, from: wiped, as: place.name, in: place.folder) }
                changed.append(index)
            } else {
                try overwrite(original)
            }
        }
        try flushAll()
        for (index, removal) in removals where !changed.contains(index) {
            for place in removal.places { try remove(place.kept, in: wiped) }
        }
        return changed
    }

    /// Leaves a file as it is that a program has open: a reader would see the zeros.
    private func overwrite(_ original: PlainFile) throws(VaultError) {
        try backing { () throws(Errno) in
            original.descriptor.giveUpLease()
            let file: Descriptor
            // A file that its owner may not write to is removed as it is.
            do throws(Errno) { file = try store.reopen(original.descriptor, O_RDWR | O_NONBLOCK) } catch { return }
            try original.descriptor.letGo()
            guard file.takeWriteLease() else { return }
            let zeros = [UInt8](repeating: 0, count: 1 << 20)
            let size = try store.status(of: file).size
            var offset: Int64 = 0
            // Holes stay holes: there is nothing in them, and to fill them would need space.
            while offset < size, let start = try store.nextData(of: file, from: offset), start < size {
                let end = min(try store.nextHole(of: file, from: start) ?? size, size)
                offset = start
                while offset < end {
                    let count = Int(min(Int64(zeros.count), end - offset))
                    try unsafe store.write(zeros.span.bytes.extracting(0..<count), to: file, at: offset)
                    offset += Int64(count)
                }
            }
        }
    }
}
