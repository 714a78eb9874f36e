import Failure
import Format
import Glibc
import Mount
import Policy
import Posix
import Vault

extension OpenVault {
    /// Gives the root folder of the vault this class, as the attribute in the mount would, unless it has it already.
    /// Needs no unlock: a folder's class stands in its record, under the volume key.
    ///
    /// - Throws: `forbidden` if the policy does not allow the class; `rootClassDiffers` if the vault is only read;
    ///   `io` with EPERM if the root folder is another user's; `riskyStore` if the store does not show the new class:
    ///   new files would have the old one.
    func setRootClass(_ wanted: ProtectionClass, of vault: Vault, _ policy: PolicyInForce) throws(Failure) {
        let root: Directory
        do throws(VaultError) { root = try vault.openRoot() } catch { throw Failure(ProtectedMountError.vault(error)) }
        let present = root.record.defaultClass
        guard present != wanted else { return }
        if vault.isReadOnly { throw .rootClassDiffers(present: present.name, wanted: wanted.name) }
        if let violation = policy.violation(setting: wanted) { throw .forbidden(reason: violation.description) }
        do throws(VaultError) {
            let owner = try vault.status(of: root).owner
            guard geteuid() == 0 || owner == geteuid() else { throw .system(.EPERM) }
            try vault.setDefaultClass(wanted, isExplicit: true, of: root)
        } catch .unseen {
            throw .riskyStore(
                store: storeFacts.kind.engine,
                reason: "it still shows the old class of the root folder, so new files could be read while the vault "
                    + "is locked",
                isFinal: true)
        } catch .system(let error) {
            throw .io(error, doing: "set the class of the vault's root folder")
        } catch { throw Failure(ProtectedMountError.vault(error)) }
    }
}
