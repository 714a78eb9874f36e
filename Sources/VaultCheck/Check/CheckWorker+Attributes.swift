import Format
import Glibc
import Posix
import Store
import Vault

extension CheckWorker {
    /// Checks that each of the vault's extended attributes opens, and that each continuation has a value.
    func checkAttributes(of owner: AttributeSubject, _ spot: Spot) {
        checkSidecar(of: owner, spot)
        checkStoredAttributes(of: owner, spot)
        check.report(vault.staleAttribute(of: owner), spot)
    }

    private func checkSidecar(of owner: AttributeSubject, _ spot: Spot) {
        do throws(VaultError) { _ = try vault.sidecar(of: owner) } catch {
            guard let owner = owner.sidecarPath else { return }
            report(error, .attribute, "its attributes in \(owner) cannot be read", at: spot.of(owner))
        }
    }

    private func checkStoredAttributes(of owner: AttributeSubject, _ spot: Spot) {
        let all: [String]
        do throws(Errno) { all = try store.attributeNames(of: owner.descriptor) } catch {
            guard error != .EOPNOTSUPP else { return }
            return report(.system(error), .attribute, "its attributes cannot be listed", at: spot)
        }
        var values: [AttributeName] = []
        var continuations: Set<AttributeName> = []
        for name in all where name.utf8.starts(with: owner.prefix.rawValue.utf8) {
            let stored = AttributeName(backing: name, owner.prefix)
            if let stored, case .continuation = stored {
                continuations.insert(stored)
                continue
            }
            do throws(VaultError) {
                guard let stored else { throw .damaged("an extended attribute's name was changed") }
                values.append(stored)
                _ = try vault.openAttribute(stored, of: owner)
            } catch { report(error, .attribute, "the attribute \(name) cannot be read", at: spot.of(name)) }
        }
        // The continuation of a value that does not open is not an orphan: it is repaired with the value.
        if !continuations.isEmpty {
            for value in values { _ = vault.continuation(of: value, of: owner).map { continuations.remove($0) } }
        }
        for continuation in continuations {
            let spot = spot.of(continuation.backing(owner.prefix))
            orphan(.continuation, "what an interrupted change of an extended attribute left", at: spot)
        }
    }

    /// Checks the attributes of an entry that is neither a file nor a directory. Only root can see them.
    func checkNode(_ spot: Spot, in folder: CheckedFolder) {
        guard vault.hasNodeAttributes else { return }
        do throws(VaultError) {
            let node = try backing { () throws(Errno) in
                try store.open(spot.stored!, in: folder.directory.descriptor, O_PATH, mode: 0)
            }
            checkAttributes(of: AttributeSubject(node: node), spot)
        } catch { report(error, .attribute, "its attributes cannot be looked at", at: spot) }
    }
}

extension Spot {
    fileprivate func of(_ attribute: String) -> Spot {
        var spot = self
        spot.attribute = attribute
        return spot
    }
}
