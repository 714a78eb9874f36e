import Store

extension SimulatedDisk {
    /// What was pending at the crash and which of it has happened, as a help to find the fault. Inodes have the numbers
    /// of the record.
    func description(of choice: CrashChoice) -> String {
        var lines = ["metadata (+ happened, - did not):"]
        for (change, happened) in zip(pending, choice.metadata) {
            lines.append("  \(happened ? "+" : "-") \(change)")
        }
        for (file, chosen) in zip(pendingFiles, choice.contents) {
            let contents = files[file]!
            lines.append("inode \(file.number): length \(contents.sizes[chosen.length]) of \(contents.sizes); steps:")
            for (index, step) in contents.steps.enumerated() {
                lines.append("  \(index + 1): \(step)")
            }
            for (index, seen) in chosen.sectors.enumerated() {
                let steps = contents.touches[index].map { $0 + 1 }
                lines.append("  sector \(contents.sectors[index]): \(seen) of steps \(steps)")
            }
        }
        return lines.joined(separator: "\n")
    }
}

extension SimulatedDisk.MetadataChange: CustomStringConvertible {
    var description: String {
        switch kind {
        case .names(let change): change.description
        case .inode(let inode, let change): "inode \(inode.number): \(change)"
        case .resize(let inode, let step): "inode \(inode.number): resize of step \(step)"
        }
    }
}

extension PendingContents.Step: CustomStringConvertible {
    var description: String {
        switch self {
        case .write(let bytes, let offset): "write \(offset)..<\(offset + bytes.count)"
        case .resize(let size): "resize to \(size)"
        }
    }
}

extension Slot: CustomStringConvertible {
    public var description: String { "\(directory.number)/\(name)" }
}

extension NameChange: CustomStringConvertible {
    public var description: String {
        switch self {
        case .add(let slot, let inode): "add \(slot) -> \(inode.number)"
        case .remove(let slot, let inode): "remove \(slot) -> \(inode.number)"
        case .move(let old, let new, let inode, let replacement):
            "move \(old) to \(new) -> \(inode.number), replacement \(replacement)"
        case .exchange(let one, let inode, let other, let otherInode):
            "exchange \(one) -> \(inode.number) with \(other) -> \(otherInode.number)"
        }
    }
}
