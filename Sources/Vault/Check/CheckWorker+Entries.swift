import Crypto
import Format
import Posix
import Store

extension Check {
    /// The root, if its record opens.
    func openRoot() -> CheckedFolder? {
        let reason: String
        var kind = Finding.Kind.directory
        do throws(VaultError) {
            return CheckedFolder(try vault.openRoot(), .root, share: CheckProgress.whole)
        } catch {
            switch error {
            case .damaged(let what): reason = what
            case .locked, .system:
                reason = "its record cannot be read: \(error.errno)"
                kind = .unreadable
            }
        }
        report(
            Finding(.damage, kind, path: Trail.root.path(), backingPath: Trail.root.backingPath(), reason: reason)
        )
        return nil
    }
}

extension CheckWorker {
    /// Opens a directory, if its name and its record are good.
    func openFolder(_ stored: Name, in folder: CheckedFolder, share: UInt64) -> CheckedFolder? {
        guard let name = name(of: stored, in: folder) else { return nil }
        do throws(VaultError) {
            let directory = try vault.openDirectory(name, in: folder.directory)
            return CheckedFolder(directory, folder.trail.entering(name, stored), share: share)
        } catch {
            report(error, .directory, "the folder cannot be opened", in: folder.trail, name, stored)
            return nil
        }
    }

    /// Checks entries that are no directories of the tree.
    func check(_ entries: [DirectoryEntry], in folder: CheckedFolder, part: UInt64) {
        for entry in entries where !check.isCancelled {
            var part = part
            defer { check.progress.advance(by: part) }
            switch BackingName(entry.name.bytes) {
            case .reserved:
                checkReserved(entry.name, in: folder)
            case .temporary:
                leftover(.temporary, "what an interrupted operation left", in: folder.trail, entry.name)
            case .sidecar:
                checkSidecar(entry.name, in: folder)
            case .foreign:
                note(.foreign, "no name of this vault's", in: folder.trail, entry.name)
            case .entry, .longEntry:
                guard let name = name(of: entry.name, in: folder) else { continue }
                check.progress.countFile()
                check(entry, name, in: folder, &part)
            }
        }
    }

    private func check(_ entry: DirectoryEntry, _ name: Name, in folder: CheckedFolder, _ part: inout UInt64) {
        switch entry.kind {
        case .regular:
            checkFile(entry.name, name, in: folder, &part)
        case .symbolicLink:
            do throws(VaultError) { _ = try vault.readTarget(entry.name, in: folder.directory) } catch {
                report(error, .symlink, "its target cannot be read", in: folder.trail, name, entry.name)
            }
        case nil:
            note(
                .unchecked, "nobody can tell what it is", path: folder.trail.path(of: name), in: folder.trail,
                entry.name)
        default:
            // FIFOs, sockets and devices are nothing but a name.
            break
        }
    }

    /// The plaintext of an entry's name. What has none is reported.
    private func name(of stored: Name, in folder: CheckedFolder) -> Name? {
        let ciphertext: [UInt8]
        do throws(VaultError) {
            ciphertext = try vault.ciphertext(of: stored, in: folder.directory) ?? []
        } catch {
            let error = error == .system(.ENOENT) ? .damaged("its long name is lost: the sidecar is missing") : error
            report(error, .name, "the sidecar with its long name cannot be read", in: folder.trail, nil, stored)
            return nil
        }
        guard let name = vault.plainName(ofCiphertext: ciphertext, in: folder.directory) else {
            note(.foreign, "a name that does not decrypt in this folder", in: folder.trail, stored)
            return nil
        }
        guard (try? vault.storedName(name, in: folder.directory))?.name == stored else {
            note(.foreign, "a name that is not stored in this way", in: folder.trail, stored)
            return nil
        }
        return name
    }

    private func checkReserved(_ stored: Name, in folder: CheckedFolder) {
        let isRoot = folder.trail.parent == nil
        switch stored.description {
        case BackingName.directoryRecord:
            break
        case BackingName.newDirectoryRecord:
            leftover(
                .record, "the coming record of a rename that was interrupted", path: folder.trail.path(),
                in: folder.trail, stored)
        case BackingName.newKeybag where isRoot, BackingName.oldKeybag where isRoot:
            leftover(.keybagCopy, "a keybag from an interrupted change of it", in: folder.trail, stored)
        case _ where isRoot:
            break
        default:
            note(.foreign, "a name that has a meaning in the vault's own folder alone", in: folder.trail, stored)
        }
    }

    private func checkSidecar(_ stored: Name, in folder: CheckedFolder) {
        let entry = Name(bytes: stored.bytes.dropLast(BackingName.sidecarSuffix.utf8.count))!
        do throws(Errno) {
            _ = try store.status(of: entry, in: folder.directory.descriptor)
        } catch .ENOENT {
            leftover(.sidecar, "the long name of an entry that is gone", in: folder.trail, stored)
        } catch {
            note(.unchecked, "its entry cannot be looked up: \(error)", in: folder.trail, stored)
        }
    }

    /// Checks that each extended attribute of ours opens.
    func checkAttributes(of file: Descriptor, _ owner: [UInt8], _ trail: Trail, _ entry: (name: Name, stored: Name)?) {
        let names: [String]
        do throws(Errno) { names = try store.attributeNames(of: file) } catch {
            guard error != .EOPNOTSUPP else { return }
            report(.system(error), .attribute, "its attributes cannot be listed", in: trail, entry?.name, entry?.stored)
            return
        }
        for stored in names where stored.hasPrefix(AttributeName.prefix) {
            do throws(VaultError) {
                _ = try vault.openAttribute(stored, of: file, owner)
            } catch {
                report(
                    error, .attribute, "the attribute \(stored) cannot be read", in: trail, entry?.name, entry?.stored)
            }
        }
    }
}
