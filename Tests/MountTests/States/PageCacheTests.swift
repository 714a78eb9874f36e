import Foundation
import TestSupport
import Testing

extension MountTests {
    /// What the kernel's page cache holds of a file, as mincore(2) shows.
    @Suite struct PageCache {
        private static let pages = 200

        private func withMappedFile(_ options: [String] = [], _ body: (Scene) throws -> Void) throws {
            try withScene(["--default-class", "complete"], options: options) { scene in
                try scene.makeFile("file", [UInt8](seed: 1, count: Self.pages * 4096))
                try scene.probe.open(0, scene.path("file"), "rw").required()
                try scene.probe.map(0, 0, Self.pages * 4096).required()
                // Loaded, and locked against reclaim by the kernel: only the daemon drops them after this.
                try scene.probe.ask("mlock", "0").required()
                let before = try resident(scene)
                #expect(before == Self.pages)
                try body(scene)
            }
        }

        private func resident(_ scene: Scene) throws -> Int { try scene.probe.ask("resident", "0").number() }

        /// The kernel compares modification times, and can be told to keep a file's pages if they are equal.
        @Test func ourOwnWriteKeepsIt() throws {
            try withMappedFile { scene in
                try scene.probe.pwrite(0, 5, [7]).required()
                // Longer than the attributes are valid: then the kernel asks for them.
                Thread.sleep(forTimeInterval: 1.1)
                try scene.probe.ask("stat", scene.path("file")).required()
                try scene.probe.pread(0, 0, 10).required()
                let after = try resident(scene)
                #expect(after == Self.pages)
            }
        }

        /// Also over a close and an open: the file is unchanged.
        @Test func openingItAgainKeepsIt() throws {
            try withMappedFile { scene in
                let contents = try scene.contents("file")
                #expect(contents.count == Self.pages * 4096)
                let after = try resident(scene)
                #expect(after == Self.pages)
            }
        }

        @Test(arguments: [[], ["--when-locked", "freeze"]]) func aLockEmptiesIt(_ options: [String]) throws {
            try withMappedFile(options) { scene in
                try scene.probe.store(0, 4096, [8]).required()
                try scene.mount.lockNow()
                #expect(try resident(scene) == 0)
                #expect(try scene.probe.touch(0, 0, 1) == .bus)
                #expect(try resident(scene) == 0)
                try scene.mount.unlock()
                let contents = try scene.contents("file")
                #expect(contents[4096] == 8)
            }
        }

        /// How many pages of a file are cached just after an open, before any read.
        private func residentAnew(_ scene: Scene) throws -> Int {
            try scene.probe.open(2, scene.path("file")).required()
            try scene.probe.map(2, 2, Self.pages * 4096, "shared", "r").required()
            let count = try scene.probe.ask("resident", "2").number()
            try scene.probe.ask("munmap", "2").required()
            try scene.probe.close(2).required()
            return count
        }

        private func withFileOfClassB(_ body: (Scene) throws -> Void) throws {
            try withScene(["--default-class", "complete-unless-open"]) { scene in
                try scene.makeFile("file", [UInt8](seed: 1, count: Self.pages * 4096))
                _ = try scene.contents("file")
                #expect(try residentAnew(scene) > 0, "the count finds pages that are there")
                try body(scene)
            }
        }

        /// Files that no program has open have pages too.
        @Test func aLockEmptiesAClosedFileOfClassB() throws {
            try withFileOfClassB { scene in
                try scene.mount.untilNothingIsOpen()
                try scene.mount.lockNow()
                try scene.mount.unlock()
                #expect(try residentAnew(scene) == 0)
            }
        }

        /// The pages of an open file stay until it is closed.
        @Test func theLastCloseUnderALockEmptiesIt() throws {
            try withFileOfClassB { scene in
                try scene.probe.open(1, scene.path("file")).required()
                try scene.mount.lockNow()
                #expect(try scene.probe.pread(1, 0, 4096 * Self.pages).bytes().count == 4096 * Self.pages)
                try scene.probe.close(1).required()
                try scene.mount.untilNothingIsOpen()
                // A thread of the daemon drops its pages.
                let end = ContinuousClock.now + .seconds(20)
                try scene.mount.unlock()
                while try residentAnew(scene) > 0 {
                    try #require(ContinuousClock.now < end, "its pages are still there")
                }
            }
        }
    }
}
