import Crypto
import Format
import Posix
import Store
import Vault

extension CheckWorker {
    /// Opens a directory; nil after a finding if its name or its record is damaged.
    func openFolder(_ stored: Name, in folder: CheckedFolder, share: UInt64) -> CheckedFolder? {
        guard let name = name(of: stored, in: folder) else { return nil }
        let spot = Spot(treePath: folder.treePath, name: name, stored: stored)
        do throws(VaultError) {
            let directory = try vault.openDirectory(name, in: folder.directory)
            check.sight(directory.identifier)
            check.report(directory.older, spot)
            return CheckedFolder(directory, folder.treePath.appending(name, stored), share: share)
        } catch {
            guard !isShell(spot, in: folder) else { return nil }
            switch error.isDamage ? check.orphan(stored, in: folder.directory.descriptor) : nil {
            case .empty: orphan(.unsynced, "a folder that was made just before a crash", at: spot)
            case .recordless:
                check.noteUnseen()
                orphan(.unsynced, "a folder that was made just before a crash, which has no record yet", at: spot)
            case nil: report(error, .directory, "the folder cannot be opened", at: spot)
            }
            return nil
        }
    }

    /// Checks entries that are not directories of the tree. Each has the share `part` of the whole.
    func check(_ entries: [DirectoryEntry], in folder: CheckedFolder, part: UInt64) {
        for entry in entries where !check.isCancelled {
            var part = part
            defer { check.progress.advance(by: part) }
            let spot = Spot(treePath: folder.treePath, stored: entry.name)
            switch BackingName(entry.name.bytes) {
            case .reserved:
                checkReserved(spot)
            case .temporary:
                checkTemporary(spot, in: folder)
            case .sidecar:
                checkSidecar(spot, in: folder)
            case .foreign:
                let isLost = entry.name.description.hasPrefix(BackingName.lostPrefix)
                noteForeign(
                    spot, isLost ? "what a crash has left of a folder" : "no name of this vault's", in: folder)
            case .entry, .longEntry:
                guard let name = name(of: entry.name, in: folder) else { continue }
                check.progress.countFile()
                check(entry, Spot(treePath: folder.treePath, name: name, stored: entry.name), in: folder, &part)
            }
        }
    }

    private func check(_ entry: DirectoryEntry, _ spot: Spot, in folder: CheckedFolder, _ part: inout UInt64) {
        switch entry.kind {
        case .regular:
            checkFile(spot, in: folder, &part)
        case .symbolicLink:
            checkLink(spot, in: folder)
            checkNode(spot, in: folder)
        case nil:
            note(.unchecked, "its file type cannot be read", at: spot)
        default:
            checkNode(spot, in: folder)
        }
    }

    /// The plaintext of an entry's name; nil after a finding.
    private func name(of stored: Name, in folder: CheckedFolder) -> Name? {
        let spot = Spot(treePath: folder.treePath, stored: stored)
        let ciphertext: [UInt8]
        do throws(VaultError) {
            ciphertext = try vault.ciphertext(of: stored, in: folder.directory) ?? []
        } catch {
            guard !isShell(spot, in: folder) else { return nil }
            let error = error == .system(.ENOENT) ? .damaged("its long name is lost: the sidecar is missing") : error
            report(error, .name, "the sidecar with its long name cannot be read", at: spot)
            return nil
        }
        guard let name = vault.plainName(ofCiphertext: ciphertext, in: folder.directory) else {
            // Under an ID that the folder had, until another machine has changed the folder.
            if !isShell(spot, in: folder) {
                noteForeign(spot, "a name that does not decrypt in this folder", in: folder)
            }
            return nil
        }
        // SIV is deterministic, so a name that opens has this ciphertext. But its form may still be wrong: short for
        // long.
        let isLong = Base64URL.encodedCount(ciphertext.count) > vault.traits.nameMax
        guard isLong == (BackingName(stored.bytes) == .longEntry) else {
            note(.foreign, "a name that is not stored in this way", at: spot)
            return nil
        }
        return name
    }

    /// Whether an entry is a shell, which is then reported.
    private func isShell(_ spot: Spot, in folder: CheckedFolder) -> Bool {
        let parent = folder.directory.descriptor
        guard let stored = spot.stored, vault.isShell(stored, nil, in: parent) else { return false }
        orphan(.unsynced, "a folder whose contents were removed, or have not arrived yet", at: spot)
        return true
    }

    private func noteForeign(_ spot: Spot, _ reason: Printable, in folder: CheckedFolder) {
        guard let stored = spot.stored, let name = vault.original(ofConflictCopy: stored, in: folder.directory) else {
            return note(.foreign, reason, at: spot)
        }
        note(
            .foreign, "a version of \(name) that a synchronisation program has put aside; a mount gives it a name",
            at: spot)
    }

    private func checkReserved(_ spot: Spot) {
        let isRoot = spot.treePath.parent == nil
        switch spot.stored?.description {
        case BackingName.directoryRecord:
            break
        case let name? where BackingName.machine(ofRecordCopy: Array(name.utf8)) != nil:
            break
        case BackingName.newDirectoryRecord:
            orphan(.record, "the pending record of a rename that was interrupted", at: spot)
        case BackingName.oldKeybag where isRoot && check.needsPreviousKeybag:
            break
        case BackingName.newKeybag where isRoot, BackingName.oldKeybag where isRoot:
            orphan(.keybagCopy, "a keybag from an interrupted change of it", at: spot)
        case _ where isRoot:
            break
        default:
            note(.foreign, "a name that has a meaning in the vault's own folder alone", at: spot)
        }
    }

    private func checkTemporary(_ spot: Spot, in folder: CheckedFolder) {
        if vault.tombstones(in: folder.directory.descriptor)[spot.stored!] != nil {
            note(.journal, "an empty folder that the next mount puts back under its name", at: spot)
        } else {
            orphan(.temporary, "what an interrupted operation left", at: spot)
        }
    }

    private func checkSidecar(_ spot: Spot, in folder: CheckedFolder) {
        let entry = Name(bytes: spot.stored!.bytes.dropLast(BackingName.sidecarSuffix.utf8.count))!
        do throws(Errno) {
            _ = try store.status(of: entry, in: folder.directory.descriptor)
        } catch .ENOENT {
            orphan(.sidecar, "the long name of an entry that is gone", at: spot)
        } catch {
            note(.unchecked, "its entry cannot be looked up: \(error)", at: spot)
        }
    }

}
