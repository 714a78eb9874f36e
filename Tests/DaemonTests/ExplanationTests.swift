import Control
import Format
import Testing

@testable import Daemon
@testable import Mount

@Suite struct ExplanationTests {
    private func explanation(
        _ protectionClass: ProtectionClass?, directory: Bool = false, canOpen: Bool, hasKey: Bool = false,
        handles: Int = 0, _ state: Status.State = .locked
    ) -> Explanation {
        let facts = ProtectionFacts(
            kind: directory ? .directory : .regular, protectionClass: protectionClass, isExplicit: true,
            directoryClass: .completeUntilFirstUserAuthentication, hasKeyInMemory: hasKey, handles: handles,
            canOpen: canOpen, backingPath: "abc")
        return Explanation(facts, in: state)
    }

    private func allowed(_ explanation: Explanation) -> [Bool] { explanation.actions.map(\.allowed) }

    @Test func `a file whose class is at hand can do everything`() {
        for protectionClass in ProtectionClass.allCases {
            let found = explanation(protectionClass, canOpen: true, .unlocked)
            #expect(allowed(found) == [true, true, true, true])
            #expect(found.actions.allSatisfy { $0.reason == nil })
            #expect(found.class == protectionClass.name)
            #expect(found.wrappedBy?.contains(protectionClass.letter) == true)
        }
    }

    @Test func `a locked file keeps its metadata`() {
        #expect(allowed(explanation(.complete, canOpen: false)) == [true, false, false, false])
        #expect(
            explanation(.complete, canOpen: false).actions[1].reason == "the class key is not in memory while locked")
    }

    @Test func `an open file of class B stays usable`() {
        let open = explanation(.completeUnlessOpen, canOpen: false, hasKey: true, handles: 1)
        #expect(allowed(open) == [true, false, true, false])
        let closed = explanation(.completeUnlessOpen, canOpen: false)
        #expect(allowed(closed) == [true, false, false, false])
        #expect(closed.actions[2].reason == "no program has it open")
    }

    @Test func `class B creates while locked, class A does not`() {
        #expect(allowed(explanation(.completeUnlessOpen, directory: true, canOpen: false))[2])
        #expect(!allowed(explanation(.complete, directory: true, canOpen: false))[2])
        #expect(explanation(.complete, directory: true, canOpen: false).wrappedBy == nil)
    }

    @Test func `class C before the first unlock`() {
        let found = explanation(.completeUntilFirstUserAuthentication, canOpen: false, .beforeFirstUnlock)
        #expect(found.actions[1].reason == "the class key is not in memory until the next unlock")
    }
}
