import Format
import Foundation
import Fuse
import Glibc
import Posix
import Testing

@testable import Mount

@Suite struct NodeTableTests {
    /// The holder of a node's state may wait for a checkpoint, which looks files up in the table: the table must not
    /// wait for the node.
    @Test func neverWaitsForANode() throws {
        let status = try Descriptor.open(path: "/", O_RDONLY | O_DIRECTORY).status()
        let root = Node(root: BackingInode(status), identity: .other(nil))
        let table = NodeTable(root: root)
        let other = try Descriptor.open(path: "/proc", O_RDONLY | O_DIRECTORY).status()
        let node = table.look(up: BackingInode(other), .other(nil))
        let isDone = DispatchSemaphore(value: 0)
        let outcome = node.state.withLock { _ in
            Thread.detachNewThread {
                table.forget(node.id, count: 1)
                isDone.signal()
            }
            return isDone.wait(timeout: .now() + 10)
        }
        #expect(outcome == .success)
        #expect(table.count == 1)
    }

    private func table() throws -> NodeTable {
        let status = try Descriptor.open(path: "/", O_RDONLY | O_DIRECTORY).status()
        return NodeTable(root: Node(root: BackingInode(status), identity: .other(nil)))
    }

    private func node(_ inode: Int, in table: NodeTable) -> Node {
        var status = stat()
        status.st_ino = UInt(inode)
        return table.look(up: BackingInode(FileStatus(status)), .file(FileIdentifier([UInt8](repeating: 1, count: 16))))
    }

    private func isEmpty(_ counts: [ProtectionClass: Int]) -> Bool { counts.values.allSatisfy { $0 == 0 } }

    /// A status must not wait for a node either.
    @Test func tellsWhatIsOpenWithoutWaitingForANode() throws {
        let table = try table()
        let node = node(7, in: table)
        node.flags.store(NodeFlags(rawValue: 3 | 1 << 3), ordering: .sequentiallyConsistent)
        let isDone = DispatchSemaphore(value: 0)
        let outcome = node.state.withLock { _ in
            Thread.detachNewThread {
                #expect(table.classes(ofInodes: [8, 7]) == [nil, .complete])
                #expect(table.updateIfAvailable(node) { _ in } == nil)
                _ = table.openFiles
                isDone.signal()
            }
            return isDone.wait(timeout: .now() + 10)
        }
        #expect(outcome == .success)
    }

    @Test func theFlagsShowWhatTheStateSays() throws {
        let table = try table()
        let node = node(7, in: table)
        table.update(node) { $0.protectionClass = .completeUnlessOpen }
        let flags = { node.flags.load(ordering: .sequentiallyConsistent) }
        #expect(flags().protectionClass == .completeUnlessOpen)
        #expect(!flags().mayHavePages && !flags().isOpen && !flags().hasHandles && !flags().isClosing)
        table.update(node) { $0.mayHavePages = true }
        #expect(flags().mayHavePages)
        #expect(isEmpty(table.openFiles))
        for protectionClass in ProtectionClass.allCases {
            table.update(node) { $0.protectionClass = protectionClass }
            #expect(flags().protectionClass == protectionClass)
            // The pages are dropped class by class, and this class's are not done yet.
            table.update(node) { state in
                table.noteClosing(of: node, state)
                #expect(flags().isClosing && flags().mayHavePages && !flags().hasHandles)
                #expect(flags().protectionClass == protectionClass)
            }
            #expect(!flags().isClosing)
        }
    }
}
