import Format
import Foundation
import Posix
import TestStores
import Testing

@testable import Vault

/// Attributes and access control lists of FIFOs, sockets, device nodes and symbolic links.
@Suite(.enabled(if: geteuid() == 0, "needs root")) struct NodeAttributeTests {
    private static let name = Array("trusted.one".utf8)
    private static let long = Array(("security." + String(repeating: "n", count: 240)).utf8)
    /// user::rwx,user:1234:rw-,group::r--,mask::rw-,other::---
    private static let list = AccessControlList([
        .init(.owner, 7), .init(.user, 6, 1234), .init(.owningGroup, 4), .init(.mask, 6), .init(.others, 0),
    ])!

    private func makeNodes(_ test: TestVault) throws -> [Name] {
        for (name, kind) in [("fifo", S_IFIFO), ("socket", S_IFSOCK), ("device", S_IFCHR)] {
            try test.vault.makeNode(Name(bytes: name.utf8)!, in: test.root, mode: kind | 0o644, device: 259, test.me)
        }
        try test.vault.makeSymbolicLink(to: [1, 2], "link", in: test.root, user: 0, group: 0)
        return ["fifo", "socket", "device", "link"]
    }

    @Test func areKeptUnderNamesOfRoots() throws {
        let test = try TestVault()
        for node in try makeNodes(test) {
            let owner = AttributeOwner.node(try test.vault.openNode(node, in: test.root))
            for name in [Self.name, Self.long] {
                try test.vault.setAttribute(name, to: [1, 2, 3], flags: XATTR_CREATE, of: owner)
                #expect(try test.vault.attribute(name, of: owner) == [1, 2, 3])
            }
            #expect(Set(try test.vault.attributeNames(of: owner)) == [Self.name, Self.long], "\(node)")
            let stored = try owner.descriptor.attributeNames()
            #expect(stored.count == 2 && stored.allSatisfy { $0.hasPrefix("trusted.lk.") }, "\(stored)")
            try test.rename(node, to: "moved")
            let moved = AttributeOwner.node(try test.vault.openNode("moved", in: test.root))
            try test.vault.removeAttribute(Self.long, of: moved)
            #expect(try test.vault.attributeNames(of: moved) == [Self.name], "\(node)")
            try test.vault.unlink("moved", in: test.root)
        }
        #expect(throws: VaultError.system(.ESTALE)) {
            _ = try test.create("file")
            _ = try test.vault.openNode("file", in: test.root, expecting: 1)
        }
    }

    @Test func aListIsInheritedAndFollowsTheMode() throws {
        let test = try TestVault()
        let folder = try test.makeDirectory("folder")
        try test.vault.setDefaultList(Self.list.encoded, of: .directory(folder))
        try test.vault.makeNode(
            "fifo", in: folder, mode: S_IFIFO | 0o666, device: 0, Ownership(mode: 0o666, user: 0, group: 0))
        #expect(try test.vault.status(of: "fifo", in: folder).permissions == 0o660)
        func list() throws -> AccessControlList? {
            let owner = AttributeOwner.node(try test.vault.openNode("fifo", in: folder))
            return AccessControlList(
                decoding: try test.vault.attribute(Array(AccessControlList.accessAttribute.utf8), of: owner))
        }
        #expect(try list()?.entries.map(\.permissions) == [6, 6, 4, 6, 0])
        try test.vault.setMode(0o640, of: "fifo", in: folder)
        #expect(try list()?.entries.map(\.permissions) == [6, 6, 4, 4, 0])
        #expect(try test.vault.status(of: "fifo", in: folder).permissions == 0o640)
    }

    /// A store that keeps no attributes of root's gives the group the permissions of its own entry.
    @Test(arguments: [Errno.EOPNOTSUPP, .EPERM]) func aStoreWithoutThem(error: Errno) throws {
        var faults: FaultInjectingStore!
        let test = try TestVault { base in
            faults = FaultInjectingStore(base)
            return faults
        }
        let folder = try test.makeDirectory("folder")
        try test.vault.setDefaultList(Self.list.encoded, of: .directory(folder))
        faults.faults.fail(.setAttribute, with: error)
        try test.vault.makeNode(
            "fifo", in: folder, mode: S_IFIFO | 0o666, device: 0, Ownership(mode: 0o666, user: 0, group: 0))
        #expect(faults.faults.injected == 1)
        #expect(try test.vault.status(of: "fifo", in: folder).permissions == 0o640)
    }

    @Test func fsckFindsAndRemovesWhatDoesNotOpen() throws {
        let scene = try CheckScene()
        let test = scene.test
        try test.vault.makeNode("fifo", in: test.root, mode: S_IFIFO | 0o644, device: 0, test.me)
        for name in ["fifo", "link"] as [Name] {
            let node = try test.vault.openNode(name, in: test.root)
            try test.vault.setAttribute(Self.name, to: [1, 2, 3], flags: 0, of: .node(node))
            try test.vault.setAttribute(Self.long, to: [4], flags: 0, of: .node(node))
            try node.setAttribute(
                AttributeName.continuation(nonce: [UInt8](repeating: 1, count: 16)).backing(.trusted), to: [1])
            let short = try #require(
                try node.attributeNames().first { !$0.contains("lk.long") && !$0.contains("lk.rest") })
            var bytes = try node.attribute(short)
            bytes[20] ^= 1
            try node.setAttribute(short, to: bytes)
        }
        let expected = ["/fifo", "/link"].flatMap {
            [Found(.damage, .attribute, $0), Found(.orphan, .continuation, $0)]
        }
        #expect(try scene.found() == Set(expected))
        try scene.repair()
        #expect(try scene.found().isEmpty)
        let (root, _, vault) = try scene.look(up: "/fifo")
        for name in ["fifo", "link"] as [Name] {
            let owner = AttributeOwner.node(try vault.openNode(name, in: root))
            #expect(try vault.attributeNames(of: owner) == [Self.long], "\(name)")
            #expect(try vault.attribute(Self.long, of: owner) == [4])
        }
        try scene.expectUnharmed()
    }
}
