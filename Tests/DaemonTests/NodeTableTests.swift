import Foundation
import Fuse
import Glibc
import Posix
import Testing

@testable import Mount

@Suite struct NodeTableTests {
    /// Whoever holds a node's state may have to wait for files to be settled, and these are looked up in the table: that must
    /// not wait for the node.
    @Test func neverWaitsForANode() throws {
        let status = try Descriptor.open(path: "/", O_RDONLY | O_DIRECTORY).status()
        let root = Node(id: .root, backing: BackingInode(status), identity: .other(nil))
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
}
