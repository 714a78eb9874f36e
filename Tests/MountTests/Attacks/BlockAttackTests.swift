import TestSupport
import Testing

extension MountTests {
    /// Section 4's table: blocks.
    @Suite struct BlockAttacks {
        @Test func blocksSwappedWithinAFile() throws {
            let scene = try AttackScene()
            try scene.file("first").swapBlocks(1, 2)
            try scene.expectRefused(blocks: [1, 2], of: "first", AttackScene.first)
        }

        @Test func aBlockRepeatedWithinAFile() throws {
            let scene = try AttackScene()
            try scene.file("first").edit { bytes in
                bytes.replaceSubrange(
                    BackingFile.range(ofBlock: 3, in: bytes.count),
                    with: Array(bytes[BackingFile.range(ofBlock: 0, in: bytes.count)]))
            }
            try scene.expectRefused(blocks: [3], of: "first", AttackScene.first)
        }

        @Test func aBlockFromAnotherFile() throws {
            let scene = try AttackScene()
            try scene.file("first").takeBlock(2, from: scene.file("second"))
            try scene.expectRefused(blocks: [2], of: "first", AttackScene.first)
        }

        /// One bit, in the nonce, in the ciphertext, in the tag.
        @Test(arguments: [0, 15, 16, 2000, 4111, 4112, 4127])
        func aFlippedBit(_ offset: Int) throws {
            let scene = try AttackScene()
            try scene.file("first").edit { $0[512 + 4128 + offset] ^= 1 }
            try scene.expectRefused(blocks: [1], of: "first", AttackScene.first)
        }

        @Test func zerosOverABlock() throws {
            let scene = try AttackScene()
            try scene.file("first").zeroBlock(2)
            try scene.expectRefused(blocks: [2], of: "first", AttackScene.first)
        }

        /// The same as a real hole in the backing file.
        @Test func aHolePunchedOverABlock() throws {
            let scene = try AttackScene()
            try shell("fallocate -p -o \(512 + 4128) -l 4128 '\(scene.file("first").path)'").succeeded()
            try scene.expectRefused(blocks: [1], of: "first", AttackScene.first)
        }

        /// Truncated at a block's border, within a block, after the first block, and to the header alone.
        @Test(arguments: [512 + 4 * 4128, 512 + 3 * 4128 + 1000, 512 + 4128, 512 + 33, 512])
        func truncate(_ size: Int) throws {
            let scene = try AttackScene()
            try scene.file("first").truncate(to: size)
            try scene.afterwards(except: ["first"]) { scene in
                let logged = scene.mount.messages.count
                let answer = try scene.probe.read(scene.path("first"))
                #expect(answer == .refused("EIO"), "truncated to \(size)")
                #expect(scene.mount.logs(past: logged), "nothing is logged")
            }
        }

        /// Blocks appended behind the length are not part of the file.
        @Test func blocksAppended() throws {
            let scene = try AttackScene()
            try scene.file("first").edit { bytes in
                bytes += bytes[BackingFile.range(ofBlock: 1, in: bytes.count)]
            }
            try scene.afterwards(except: ["first"]) { scene in
                let answer = try scene.probe.read(scene.path("first"))
                // Block 4 was the last and shorter: with more bytes behind it, it is read as a full block and does not
                // verify.
                #expect(answer == .ok(AttackScene.first.hexadecimal) || answer == .refused("EIO"))
            }
        }
    }
}
