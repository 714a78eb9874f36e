import Format
import Posix
import Store
import Vault

extension RepairWork {
    /// Moves a file whose contents are lost in part to lost+found, so that no program takes it for whole. With
    /// `salvages`, makes a copy beside it that can be read as a whole.
    func moveToLostAndFound(_ spot: Spot, _ finding: Finding) throws(VaultError) -> RepairOutcome? {
        guard let name = spot.name else { return nil }
        let source = try folder(of: spot.treePath)
        let (target, path) = try lostAndFound.folder(for: spot.treePath)
        let file = try vault.openFile(name, in: source)
        var newName = name
        let stays = source.identifier == target.identifier
        if stays {
            guard salvages else { return nil }
        } else {
            newName = try lostAndFound.freeName(name, in: target)
            try note(finding, finding.lost.map { ["\(Self.text($0))"] } ?? [])
            try vault.rename(
                vault.renameEnd(name, in: source), .file(file), to: vault.renameEnd(newName, in: target),
                replaced: nil, RenameKind(noReplace: true))
            try vault.checkpoint()
            try flush(target.descriptor, source.descriptor)
        }
        let copy = salvages ? try salvage(newName, file, in: target) : nil
        switch copy {
        case .done(let what)? where stays: return .done("in lost+found already; \(what)")
        case let copy where stays: return copy
        case .done(let more)?, .failed(let more)?:
            return try done(path + [UInt8(ascii: "/")] + newName.bytes, "; \(more)")
        case nil: return try done(path + [UInt8(ascii: "/")] + newName.bytes)
        }
    }

    private static func text(_ lost: LostRanges) -> String {
        "lost bytes: "
            + lost.ranges.map { "\($0.lowerBound)-\($0.upperBound - 1)" }.joined(separator: ", ")
            + (lost.isComplete ? "" : ", and more")
    }

    /// Makes a copy that can be read as a whole; nil if there is one already.
    private func salvage(_ name: Name, _ file: File, in target: Directory) throws(VaultError) -> RepairOutcome? {
        let copyName = name.numbered(1, ".salvaged")
        guard try lostAndFound.freeName(copyName, in: target) == copyName else { return nil }
        do throws(VaultError) {
            let lost = try Salvage(of: file, vault).copy(to: copyName, in: target)
            try lostAndFound.note(["    \(copyName): a copy, zeros for \(Self.text(lost))"])
            return .done("a copy with zeros for what is lost is \(copyName)")
        } catch {
            switch error {
            case .damaged(let reason): return .failed("no copy was made: \(reason)")
            case .locked: return .failed("no copy was made: the key of its class takes --unlock")
            case .system(.ENOSPC), .system(.EDQUOT): return .failed("no copy was made: no space")
            default: throw error
            }
        }
    }

    /// Keeps the text of a symbolic link that does not open in a file.
    func repairSymbolicLink(_ spot: Spot, _ finding: Finding) throws(VaultError) -> RepairOutcome {
        let source = try folder(of: spot.treePath)
        let (target, path) = try lostAndFound.folder(for: spot.treePath)
        try note(finding, [])
        let name = try keepLink(spot.stored!, in: source.descriptor, as: spot.name!, in: target)
        try flush(source.descriptor)
        return try done(path + [UInt8(ascii: "/")] + name.bytes)
    }

    /// Writes the text of a symbolic link to a file, and removes the link.
    func keepLink(
        _ stored: Name, in source: Descriptor, as base: Name, in target: Directory
    ) throws(VaultError) -> Name {
        let text = try backing { () throws(Errno) in try store.readSymbolicLink(stored, in: source) }
        let name = try lostAndFound.freeName(base, ".symlink", in: target)
        try lostAndFound.makeFile(name, text, in: target)
        try backing { () throws(Errno) in try store.unlink(stored, in: source) }
        dropSidecar(of: stored, in: source)
        return name
    }
}
