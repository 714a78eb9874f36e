import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// Many files, a large one and many open at once: `tools/scale` does the same with more.
    @Suite(.enabled(if: ProcessUse.isTold, "only root may see what a daemon uses")) struct Scale {
        private static let files = 50_000
        private static let folders = 500
        /// The folder with the tree, the folders in it, and the folders in those.
        private static let nodes = files + folders + folders / 100 + 1
        /// There are more folders than the daemon may have open with this limit.
        private static let descriptorLimit = 1200

        private static func count(below path: String) throws -> Int {
            let text = try shell("find '\(path)' | wc -l").succeeded().text
            return Int(text.trimmingCharacters(in: .whitespacesAndNewlines)) ?? -1
        }

        @Test(.timeLimit(.minutes(5))) func fiftyThousandFiles() throws {
            let vault = try Vault(["--default-class", "complete"])
            // Most are empty: with contents a debug build needs a minute more.
            let shape = ["\(Self.files)", "\(Self.folders)", "50", "4"]
            try withMount(vault, descriptorLimit: Self.descriptorLimit) { mount in
                let use = ProcessUse(pid: mount.daemon.pid)
                let tree = mount.file("tree")
                let made = try use.mostDescriptors(during: Built.scale, ["make", tree] + shape, within: 300)
                #expect(made < Self.descriptorLimit * 7 / 8, "descriptors, when they are made")
                try shell("mv '\(tree)' '\(mount.file("moved"))'").succeeded()
            }
            try withMount(vault, descriptorLimit: Self.descriptorLimit) { mount in
                let use = ProcessUse(pid: mount.daemon.pid)
                let tree = mount.file("moved")
                let memory = try use.anonymous()
                let walked = try use.mostDescriptors(
                    during: "/usr/bin/env", ["find", tree, "-size", "+1"], within: 120)
                #expect(walked < Self.descriptorLimit / 2, "descriptors, when they are walked through")
                #expect(try Self.count(below: tree) == Self.nodes)
                // Besides the nodes: the buffers of twelve threads, and the entries of a folder that is listed.
                let grown = try use.anonymous() - memory
                #expect(grown < 200 * Self.nodes + 4 << 20, "bytes in memory for the tree")
                #expect(try use.mostResident() < 200 * Self.nodes + 64 << 20)

                // The daemon frees the nodes that the kernel forgets.
                try Disk.write(Array("2\n".utf8), to: "/proc/sys/vm/drop_caches")
                #expect(try use.untilDescriptors(atMost: 64) <= 64, "descriptors of forgotten folders")

                let read = try use.mostDescriptors(during: Built.scale, ["read", tree] + shape, within: 120)
                #expect(read < Self.descriptorLimit * 7 / 8, "descriptors, when they are read")
                #expect(try use.anonymous() - memory < 200 * Self.nodes + 8 << 20)
                let removed = try use.mostDescriptors(during: Built.scale, ["remove", tree] + shape, within: 300)
                #expect(removed < Self.descriptorLimit * 7 / 8, "descriptors, when they are removed")
                #expect(try Self.count(below: mount.path) == 1)
            }
            #expect(Disk.tree(vault.path).allSatisfy { $0.hasPrefix("lk.") }, "nothing else is left in the vault")
        }

        /// Programs with many open files leave descriptors for others: the daemon uses only a part of its limit for
        /// files that it keeps open itself.
        @Test func openFilesLeaveRoomForOthers() throws {
            let vault = try Vault(["--default-class", "complete"])
            try withMount(vault, descriptorLimit: Self.descriptorLimit) { mount in
                let use = ProcessUse(pid: mount.daemon.pid)
                let input = try StreamFile()
                let output = try StreamFile()
                let (open, count) = (mount.file("open"), Self.descriptorLimit / 2 - 64)
                let holder = try Child(
                    "/usr/bin/env",
                    [
                        "python3", "-c",
                        """
                        import os, signal, sys
                        os.mkdir(sys.argv[1])
                        for number in range(int(sys.argv[2])):
                            os.open(f"{sys.argv[1]}/{number}", os.O_RDWR | os.O_CREAT)
                        print("open", flush=True)
                        signal.pause()
                        """, open, "\(count)",
                    ], input: input.descriptor, output: output.descriptor, errors: 2)
                let end = ContinuousClock.now + .seconds(60)
                while output.contents.isEmpty, ContinuousClock.now < end { usleep(20_000) }
                #expect(output.contents == Array("open\n".utf8))
                let most = try use.mostDescriptors(
                    during: Built.scale, ["make", mount.file("tree"), "6000", "\(Self.descriptorLimit / 2)", "1", "8"],
                    within: 120)
                #expect(most > count && most < Self.descriptorLimit)
                holder.send(SIGKILL)
                holder.wait()
            }
        }

        /// Otherwise a program waits each time the kernel doubles the daemon's table.
        @Test func descriptorsHaveRoomFromTheBeginning() throws {
            try withMount(try Vault(), descriptorLimit: Self.descriptorLimit) { mount in
                let room = try ProcessUse(pid: mount.daemon.pid).roomForDescriptors()
                #expect(room >= Self.descriptorLimit)
            }
        }

        /// In a sparse file the length costs neither time nor disk space nor memory.
        @Test func aTebibyteOfHoles() throws {
            let vault = try Vault(["--default-class", "complete"])
            try withMount(vault) { mount in
                let use = ProcessUse(pid: mount.daemon.pid)
                let file = mount.file("file")
                let memory = try use.anonymous()
                try run(Built.scale, ["holes", file, "\(1 << 20)"]).succeeded()
                try run(Built.scale, ["sparse", file, "\(1 << 20)"]).succeeded()
                try run(Built.scale, ["ends", file, "\(1 << 20)", "1"]).succeeded()
                // A bit for each block would be 32 MiB; the buffers of a dozen threads are less.
                #expect(try use.anonymous() - memory < 24 << 20, "bytes in memory")
                let used = try shell("du -s --block-size=1M '\(file)'").succeeded().text.prefix { $0.isNumber }
                #expect(Int(used)! <= 8, "MiB on the disk, as the mount says")
                let stored = try shell("du -s --block-size=1M '\(try mount.backingPath("file"))'").succeeded().text
                #expect(Int(stored.prefix { $0.isNumber })! <= 8, "MiB on the disk")
            }
        }

        /// Written to, read, mapped, truncated, synced, renamed and opened anew by 64 threads.
        @Test func fiveHundredFilesOpenAtOnce() throws {
            let vault = try Vault(["--default-class", "complete"])
            try withMount(vault, descriptorLimit: Self.descriptorLimit) { mount in
                let use = ProcessUse(pid: mount.daemon.pid)
                let folder = mount.file("folder")
                try shell("mkdir '\(folder)'").succeeded()
                let seed = Int.random(in: 1...1_000_000)
                let most = try use.mostDescriptors(
                    during: Built.scale, ["handles", folder, "500", "64", "5", "\(seed)"], within: 120)
                #expect(most < Self.descriptorLimit, "descriptors with seed \(seed)")
                #expect(try use.mostResident() < 200 * 502 + 64 << 20)
                try mount.untilNothingIsOpen()
            }
        }
    }
}
