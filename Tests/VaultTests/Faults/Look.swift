import Posix
import TestStores
import Testing

@testable import Vault

/// Looks at a vault after a change in which a call has failed.
struct Look {
    let act: FaultAct
    let what: String
    /// The result that the caller got.
    let failure: (any Error)?
    let failed: [Operation.Kind]
    let expected: AnyCallTests.Expected

    /// Checks that the tree is the one before the change or the one after it; without times if they need not be right.
    @discardableResult func image(_ vault: Vault, _ when: String, hasTimes: Bool = true) -> TreeImage? {
        var (old, new) = (expected.old, expected.new)
        var image: TreeImage
        do { image = try TreeImage(vault, vault.openRoot()) } catch {
            Issue.record("\(what): \(when), it does not read: \(error)")
            return nil
        }
        if !hasTimes { (image, old, new) = (image.withoutTimes(), old.withoutTimes(), new.withoutTimes()) }
        if act.halfDone != nil && failed.count > 1 { return image }
        // A change that succeeded is there as a whole.
        let difference =
            failure == nil ? image.difference(from: new, new) : image.difference(from: old, new, mixed: act.mixed)
        if let difference { Issue.record("\(what): \(when), it is \(difference)") }
        return image
    }
}
