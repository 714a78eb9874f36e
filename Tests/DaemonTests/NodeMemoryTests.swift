import Format
import Fuse
import Glibc
import Posix
import Testing

@testable import Mount

/// A million nodes must fit into memory: how much each takes, and that it is freed.
@Suite struct NodeMemoryTests {
    private func inode(_ number: Int) throws -> BackingInode {
        var status = stat()
        status.st_ino = UInt(number)
        status.st_dev = 0xfe00
        return BackingInode(FileStatus(status))
    }

    private func identity(_ number: Int) -> Node.Identity {
        var bytes = [UInt8](repeating: 7, count: 16)
        bytes[0] = UInt8(truncatingIfNeeded: number)
        bytes[1] = UInt8(truncatingIfNeeded: number >> 8)
        return .file(FileIdentifier(bytes))
    }

    private func makeTable() throws -> NodeTable {
        NodeTable(root: Node(root: try inode(1), identity: .other(nil)))
    }

    @Test func aNodeIsSmall() throws {
        let node = Node(root: try inode(1), identity: identity(1))
        node.add(Location(parent: Node(root: try inode(2), identity: identity(2)), name: "of 14 letters"))
        // malloc.h is not in Glibc's module.
        let sizeOf = unsafe unsafeBitCast(
            dlsym(nil, "malloc_usable_size")!, to: (@convention(c) (UnsafeMutableRawPointer) -> Int).self)
        let size = unsafe sizeOf(Unmanaged.passUnretained(node).toOpaque())
        #expect(size <= 120)
        #expect(MemoryLayout<PackedName>.size == 16)
    }

    /// Nodes are added and removed in every order; each is found by both its numbers as long as it is there.
    @Test func findsWhatIsThere() throws {
        let table = try makeTable()
        var random = SystemRandomNumberGenerator()
        var known: [Int: NodeID] = [:]
        var former: Set<NodeID> = []
        for round in 0..<40_000 {
            let number = Int.random(in: 2..<9000, using: &random)
            let isGrowing = round % 10_000 < 6000
            if let id = known[number], !isGrowing || round % 3 == 0 {
                table.forget(id, count: 1)
                former.insert(id)
                known[number] = nil
            } else if known[number] == nil, isGrowing {
                let node = table.look(up: try inode(number), identity(number))
                known[number] = node.id
                former.remove(node.id)
            }
        }
        #expect(table.count == known.count + 1)
        #expect(Set(table.all.map(\.id)) == Set(known.values).union([.root]))
        for number in 2..<9000 {
            let node = table[try inode(number)]
            #expect(node?.id == known[number])
            if let id = known[number] { #expect(table[id] === node) }
        }
        #expect(table.open.isEmpty)
        table[try inode(known.keys.first!)]!.flags.store(NodeFlags(rawValue: 1), ordering: .sequentiallyConsistent)
        #expect(table.open.map(\.id) == [known.values.first!])
        table.open[0].flags.store(NodeFlags(rawValue: 0), ordering: .sequentiallyConsistent)
        for id in former { #expect(table[id] == nil) }
        for id in known.values { table.forget(id, count: 1) }
        #expect(table.count == 1)
    }

    /// A new file gets the inode number of one that was unlinked and is still open.
    @Test func theNewestNodeOfAnInodeIsFound() throws {
        let table = try makeTable()
        let inode = try inode(5)
        let old = table.look(up: inode, identity(1))
        table.unlinked(old)
        #expect(table[inode] == nil)
        let new = table.look(up: inode, identity(2))
        #expect(new !== old)
        table.forget(old.id, count: 1)
        #expect(table[inode] === new)
        table.forget(new.id, count: 1)
        #expect(table[inode] == nil)
        #expect(table.count == 1)
    }

    /// The kernel presents a number again after it has forgotten the node, and in the next mount.
    @Test func anObjectKeepsItsNumber() throws {
        let tables = [try makeTable(), try makeTable()]
        for number in [2, 1 << 32, 1 << 47, 1 << 48, 1 << 60 | 77, Int.max] {
            let ids = try tables.map { table in
                let node = table.look(up: try inode(number), identity(number))
                #expect(table[node.id] === node)
                #expect(InodeKey(node.id) == InodeKey(UInt64(number)))
                table.forget(node.id, count: 1)
                #expect(table[node.id] == nil)
                #expect(table.look(up: node.id) == nil)
                return table.look(up: try inode(number), identity(number)).id
            }
            #expect(Set(ids).count == 1)
        }
        // The kernel compares the generation of a handle's object with that of the one that was found.
        let generations = Set([identity(2), identity(3), .other(.fifo)].map(\.generation))
        #expect(generations.count == 3 && generations.allSatisfy { $0 <= UInt64(UInt32.max) })
    }

    /// Two objects that have one inode, one after the other, and the same bits of their identifiers.
    @Test func noTwoNodesHaveOneNumber() throws {
        let table = try makeTable()
        let inode = try inode(5)
        let old = table.look(up: inode, .other(.fifo))
        table.unlinked(old)
        let new = table.look(up: inode, .other(.symbolicLink))
        #expect(new.id != old.id && new.id.isTemporary && !old.id.isTemporary)
        #expect(table[old.id] === old && table[new.id] === new)
        let newest = table.look(up: inode, .other(.socket))
        #expect(newest.id.isTemporary && newest.id != new.id)
        #expect(table[new.id] === new)
        for node in [old, new, newest] {
            table.forget(node.id, count: 1)
            #expect(table[node.id] == nil)
        }
        #expect(table.count == 1)
        #expect(table.look(up: inode, .other(.fifo)).id == old.id)
    }

    /// On a store that gives an inode another number.
    @Test func aNodeMovesWithItsInode() throws {
        let table = NodeTable(root: Node(root: try inode(1), identity: .other(nil)), keepsInodeNumbers: false)
        let node = table.look(up: try inode(5), identity(5))
        let other = table.look(up: try inode(6), identity(6))
        let id = node.id
        #expect(table[identity(5)] === node && table[identity(7)] == nil)
        // Another inode has the number that this one had, and the other way round.
        table.renumber(node, as: try inode(6))
        #expect(table[try inode(5)] == nil)
        #expect(table[try inode(6)] === node)
        table.renumber(other, as: try inode(5))
        let swapped = (table[try inode(5)], table[try inode(6)])
        #expect(swapped.0 === other && swapped.1 === node)
        #expect(node.id == id && table[id] === node && table[other.id] === other)
        #expect(node.backing == (try inode(6)))
        #expect(table.look(up: try inode(6), identity(5)) === node)
        table.forget(id, count: 2)
        table.forget(other.id, count: 1)
        #expect(table.count == 1)
        #expect(table[identity(5)] == nil)
    }

    /// The kernel's numbers of the root and of what it does not know.
    @Test func noNumberIsTheRoots() throws {
        let table = try makeTable()
        var status = stat()
        status.st_ino = 1
        status.st_dev = 7
        let other = table.look(up: BackingInode(FileStatus(status)), .other(.fifo))
        #expect(other.id.isTemporary)
        #expect(table.look(up: try inode(0), .other(.fifo)).id.isTemporary)
        #expect(table[.root] === table.root)
    }

    /// A folder that only a file handle's way leads through stays as long as what is below it.
    @Test func foldersOnAWayAreHeld() throws {
        let table = try makeTable()
        let folder = table.look(up: try inode(5), identity(5))
        let inner = table.look(up: try inode(6), identity(6))
        let file = table.look(up: try inode(7), identity(7))
        table.hold(table.root, for: folder)
        table.hold(folder, for: inner)
        table.hold(inner, for: file)
        #expect(table.count == 4)
        // Once is enough, and the kernel's own lookups count too.
        table.hold(table.look(up: inner.id)!, for: file)
        #expect(table.look(up: folder.id) === folder)
        table.forget(file.id, count: 1)
        #expect(table[inner.id] == nil && table[folder.id] === folder)
        table.forget(folder.id, count: 1)
        #expect(table.count == 1)
    }

    @Test func namesComeBackAsTheyWere() throws {
        for count in 1...40 {
            let name = Name(bytes: (0..<count).map { UInt8(255 - $0) })!
            #expect(PackedName(name).unpacked == name)
        }
        #expect(PackedName("a") != PackedName("b"))
        #expect(PackedName(Name(bytes: [1])!) != PackedName(Name(bytes: [1, 1])!))
    }

    /// Of several names the newest is first, and the others follow in their order.
    @Test func namesAreKeptInTheirOrder() throws {
        let parent = Node(root: try inode(1), identity: .other(nil))
        let node = Node(slot: 2, made: 0, backing: try inode(2), identity: .other(nil))
        let names: [Name] = ["one", "two", "a name that is not short", "four"]
        for name in names { node.add(Location(parent: parent, name: name)) }
        #expect(node.names.map(\.name) == names.reversed())
        node.add(Location(parent: parent, name: "two"))
        #expect(node.names.map(\.name) == ["two", "four", "a name that is not short", "one"])
        node.remove(Location(parent: parent, name: "two"))
        #expect(node.names.map(\.name) == ["four", "a name that is not short", "one"])
        node.remove(Location(parent: parent, name: "a name that is not short"))
        #expect(node.latestName?.name == "four")
        node.remove(Location(parent: parent, name: "four"))
        node.remove(Location(parent: parent, name: "one"))
        #expect(node.names.isEmpty && node.latestName == nil)
    }
}
