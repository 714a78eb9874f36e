import Posix
import Sharing
import Testing

@testable import Mount

/// What a machine that shares a vault believes of names, while requests change them.
@Suite struct KnownNamesTests {
    private let folder = LeaseObject(number: 1)
    private let other = LeaseObject(number: 2)
    private let old = KnownNames.Found.object(LeaseObject(number: 3))
    private let new = KnownNames.Found.object(LeaseObject(number: 4))

    @Test func whatWasReadIsKnown() {
        var names = KnownNames()
        names.note(old, "a", in: folder, readAt: names.version(of: folder))
        names.note(.nothing, "b", in: folder, readAt: names.version(of: folder))
        #expect(names.found("a", in: folder) == old && names.found("b", in: folder) == .nothing)
        #expect(names.found("a", in: other) == nil && names.found("c", in: folder) == nil)
        names.forget(folder)
        #expect(names.found("a", in: folder) == nil)
    }

    /// A name is read, another request gives it to something else, and then what was read is to be noted.
    @Test(arguments: [0, 1, 2]) func whatWasReadBeforeAChangeIsNot(moment: Int) {
        var names = KnownNames()
        var version = names.version(of: folder)
        names.beginChange("a", in: folder)
        if moment == 1 { version = names.version(of: folder) }
        if moment == 2 { names.note(old, "a", in: folder, readAt: version) }
        names.endChange(in: folder)
        names.note(old, "a", in: folder, readAt: version)
        #expect(names.found("a", in: folder) == nil)
        names.note(new, "a", in: folder, readAt: names.version(of: folder))
        #expect(names.found("a", in: folder) == new)
    }

    @Test func whatARequestHasMadeIsKnownAfterIt() {
        var names = KnownNames()
        names.note(.nothing, "a", in: folder, readAt: names.version(of: folder))
        names.beginChange("a", in: folder)
        #expect(names.found("a", in: folder) == nil)
        names.didMake(new, "a", in: folder)
        #expect(names.found("a", in: folder) == nil, "others ask the store until it has ended")
        names.endChange(in: folder)
        #expect(names.found("a", in: folder) == new)
    }

    @Test func thereIsABound() {
        var names = KnownNames(most: 3)
        names.beginChange("x", in: other)
        for name: Name in ["a", "b", "c", "d"] {
            names.note(old, name, in: folder, readAt: names.version(of: folder))
        }
        #expect(names.found("a", in: folder) == nil && names.found("d", in: folder) == old)
        #expect(names.version(of: other) == nil, "a change under way is not forgotten")
    }
}
