import Posix
import Vault

extension Move {
    /// Gives a copy its names.
    func publish(_ item: Item) throws(VaultError) {
        let wasPresent = !item.present.isEmpty
        if wasPresent {
            for index in item.present.sorted() { item.placed.append(item.names[index]) }
        } else {
            let (name, pair) = item.names[0]
            let placed = try place(name, in: pair) { (name) throws(VaultError) in
                if let copy = item.copy { return try destination.publish(copy, as: name, in: pair.destination) }
                guard let node = item.node else { throw .system(.ESTALE) }
                try destination.publish(node, item.stagedNode, as: name, in: pair.destination)
            }
            item.placed.append((placed, pair))
        }
        let first = item.placed[0]
        for (index, (name, pair)) in item.names.enumerated()
        where wasPresent ? !item.present.contains(index) : index > 0 {
            let placed = try place(name, in: pair) { (name) throws(VaultError) in
                try destination.link(first.name, in: first.pair.destination, to: name, in: pair.destination)
            }
            item.placed.append((placed, pair))
        }
        try giveMetadata(item, wasPresent: wasPresent)
    }

    private func giveMetadata(_ item: Item, wasPresent: Bool) throws(VaultError) {
        // On the way back the original has all its metadata; its copy may lack some, until its names are durable.
        guard let metadata = item.metadata, !(isUndo && wasPresent) else { return }
        // A staged file has had its metadata before, and they were compared.
        if item.isFile, !wasPresent { return }
        let (name, pair) = item.placed[0]
        let subject: Subject<Destination> =
            if item.isFile, let copy = item.copy { .file(copy) } else { .node(name, in: pair.destination) }
        try destination.give(metadata, to: subject)
        let made = try destination.metadata(of: subject)
        if let difference = metadata.difference(from: made, isLink: item.kind == .symbolicLink) {
            throw .unseen("the \(difference) of the copy is not that of the original")
        }
    }

    /// Gives a name by `body`, and returns it. If another version has it, both are kept: the one that was moved earlier
    /// gets another name.
    private func place(
        _ name: Name, in pair: Pair, _ body: (Name) throws(VaultError) -> Void
    ) throws(VaultError) -> Name {
        do throws(VaultError) {
            try body(name)
            return name
        } catch { guard error == .system(.EEXIST) else { throw error } }
        guard isUndo else {
            try setAside(name, in: pair)
            try body(name)
            return name
        }
        for other in name.conflictNames() {
            do throws(VaultError) { try body(other) } catch {
                guard error == .system(.EEXIST) else { throw error }
                continue
            }
            tell(.setAside((pair.path / name).path, as: (pair.path / other).path))
            return other
        }
        throw .system(.EEXIST)
    }

    /// Gives what is in the way at the destination another name: nothing is replaced.
    func setAside(_ name: Name, in pair: Pair) throws(VaultError) {
        for free in name.conflictNames() {
            do throws(VaultError) { try destination.setAside(name, as: free, in: pair.destination) } catch {
                guard error == .system(.EEXIST) else { throw error }
                continue
            }
            return tell(.setAside((pair.path / name).path, as: (pair.path / free).path))
        }
        throw .system(.EEXIST)
    }
}
