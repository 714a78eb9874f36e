import CrashSimulator
import Foundation
import TestSupport
import Testing

extension MountTests.PowerLosses {
    /// A vault on a disk of its own, with ext4, under load. The disk loses its power at a random moment, with all
    /// writes that the kernel has not sent to it; then it is mounted, and the vault in it. LATCHKEY_CRASHES is the
    /// number of crashes.
    @Suite(.enabled(if: LoopDisk.isAvailable, "needs root and a loop device")) struct Disks {
        @Test func underLoad() throws {
            let settings = ProcessInfo.processInfo.environment
            let times = settings["LATCHKEY_CRASHES"].flatMap { Int($0) } ?? 8
            let seed = settings["LATCHKEY_CRASHES_SEED"].flatMap { UInt64($0) } ?? 1
            var random = SeededRandom(seed)
            var (vault, disk) = try Self.vault()
            var load = MixedLoad(writers: 3)
            var (acts, transactions, flawed, refused) = (0, 0, 0, 0)
            for turn in 0...times {
                let mount = try MountedVault(vault)
                defer { mount.detach() }
                let flaws = try load.flaws(in: mount)
                if !flaws.isEmpty || turn == times {
                    (acts, transactions) = (acts + load.acknowledged, transactions + load.transactions)
                }
                if !flaws.isEmpty {
                    flawed += 1
                    print("crash: loss \(turn): \(flaws.prefix(5).joined(separator: "; "))")
                    mount.kill()
                    mount.detach()
                    (vault, disk) = try Self.vault()
                    load = MixedLoad(writers: 3)
                    continue
                }
                if turn == times {
                    try mount.unmount()
                    break
                }
                // Found contents need not have been synced. They are synced now, as the load assumes.
                try run("find", [mount.path, "-type", "f", "-exec", "sync", "{}", "+"]).succeeded()
                let running = try load.start(in: mount, seed: Int(seed) * 1000 + turn)
                // Some turns run until the vault checkpoints by the clock.
                usleep(UInt32.random(in: turn % 4 == 3 ? 4_000_000...8_000_000 : 50_000...1_500_000, using: &random))
                try disk.losePower(under: mount.daemon) {
                    running.listen()
                } end: {
                    mount.kill()
                    running.end()
                    mount.detach()
                }
                // In this test the daemon does not end in the middle of a request.
                if let refusal = running.refusal {
                    refused += 1
                    print("crash: loss \(turn): \(refusal.suffix(300))\n\(mount.messages.suffix(400))")
                }
                try load.follow(running)
            }
            print(
                "crash: power losses of a disk under load: \(times) losses, "
                    + "\(acts) acts and \(transactions) transactions acknowledged, "
                    + "\(flawed) mounts violate, \(refused) loads were refused")
            #expect(acts > times && transactions > times, "there was no load")
            #expect(flawed + refused == 0)
        }

        /// One change and one fsync of the file, as a program on ext4 would rely on it: with no other sync between the
        /// two and the crash.
        @Test(
            arguments: [
                ("a new file", ":", "echo new > b; sync b", "a: old; b: new"),
                ("a rename", ":", "mv a b; sync b", "b: old"),
                ("a save", "echo other > b", "mv a b; sync b", "b: old"),
                ("a save by another name of it", "echo other > b; ln a c", "mv a b; sync c", "b: old; c: old"),
                ("a link", ":", "ln a b; sync a", "a: old; b: old"),
                ("a lost name", "ln a b", "rm a; sync b", "b: old"),
                ("what was closed before sync(2)", ":", "echo new > b; mv a c; sync", "b: new; c: old"),
                ("a long name", ":", "mv a $long; sync $long", "$long: old"),
            ] as [(String, String, String, String)])
        func holdWhatFsyncOfAFileMakesDurable(_ change: (String, before: String, act: String, after: String)) throws {
            let (vault, disk) = try Self.vault()
            let long = "long=\(String(repeating: "l", count: 250));"
            try withMount(vault) { mount in
                try shell(long + "echo old > a; sync a;" + change.before, in: mount.path)
            }
            try run("sync", ["-f", disk.path]).succeeded()
            let mount = try MountedVault(vault)
            // Once beforehand: the next fsync has no change of the file but its name to record.
            try shell(long + "sync a;" + change.act, in: mount.path)
            try disk.losePower(under: mount.daemon) {
            } end: {
                mount.kill()
                mount.detach()
            }
            try withMount(vault) { mount in
                let found = try shell("for file in *; do echo \"$file: $(cat $file)\"; done", in: mount.path).text
                let expected = try shell(long + "echo \"\(change.after)\"").text
                #expect(
                    found.split(separator: "\n").joined(separator: "; ") + "\n" == expected,
                    "\(change.0) has been lost")
            }
        }

        /// Bytes that are appended to a file that has just lost its last name, and synced, are there if a crash brings
        /// the name back.
        @Test(arguments: ["rm a", "mv k a"], ["fsync", "fdatasync"])
        func aFileWithoutANameHoldsWhatWasSynced(loss: String, sync: String) throws {
            // The second sync records the file in the journal.
            for syncs in ["sync a", "sync a; sync a"] {
                let (vault, disk) = try Self.vault()
                try withMount(vault) { mount in
                    try shell("head -c 8k /dev/zero > a; echo k > k; sync a k", in: mount.path)
                }
                try run("sync", ["-f", disk.path]).succeeded()
                let mount = try MountedVault(vault)
                // fsync runs before any close can write the file back.
                let append = "dd if=/dev/zero of=/dev/fd/3 bs=5000 count=1 status=none oflag=append conv=notrunc,"
                try shell("exec 3<a; \(syncs); \(loss); \(append)\(sync)", in: mount.path)
                try disk.losePower(under: mount.daemon) {
                } end: {
                    mount.kill()
                    mount.detach()
                }
                try withMount(vault) { mount in
                    let sizes = try shell("wc -c * | grep -v total", in: mount.path).text.split(separator: "\n").map {
                        $0.split(separator: " ").joined(separator: " ")
                    }
                    #expect([["2 k"], ["2 a"], ["13192 a", "2 k"]].contains(sizes), "\(syncs); \(loss); \(sync)")
                }
            }
        }

        /// A new name reaches the disk before the header that has it: the file's pending bindings have it too.
        @Test func aRenameThatTheHeaderDoesNotShow() throws {
            let (vault, disk) = try Self.vault()
            try withMount(vault) { mount in
                try shell("seq 1000 > old; seq 500 > saved; sync old saved .", in: mount.path)
            }
            try run("sync", ["-f", disk.path]).succeeded()
            let mount = try MountedVault(vault)
            // The last sync makes the disk's metadata durable, and no header.
            try shell("seq 2000 > saved.new; sync saved.new; mv saved.new saved; mv old new", in: mount.path)
            try shell("echo > beside; sync beside", in: disk.path)
            try disk.losePower(under: mount.daemon) {
            } end: {
                mount.kill()
                mount.detach()
            }
            #expect(try Self.pendingCount(disk) == 2)
            try withMount(vault) { mount in
                #expect(try shell("ls", in: mount.path).text.split(separator: "\n") == ["new", "saved"])
                try shell("seq 1000 | cmp - new; seq 2000 | cmp - saved", in: mount.path)
            }
            #expect(try Self.pendingCount(disk) == 0)
        }

        /// Without a journal, ext4 keeps no order of metadata.
        @Test(arguments: [true, false]) func renamesByOrder(hasJournal: Bool) throws {
            let (vault, disk) = try Self.vault(options: hasJournal ? [] : ["-O", "^has_journal"])
            try withMount(vault) { mount in
                try shell("seq 1000 > old; sync old .; mv old new", in: mount.path)
                #expect(try Self.pendingCount(disk) == (hasJournal ? 1 : 0))
            }
        }

        /// How many files in the disk have pending bindings.
        private static func pendingCount(_ disk: LoopDisk) throws -> Int {
            let values = try shell("getfattr -R -h -e hex -n user.lk . 2> /dev/null || true", in: disk.path).text
            return values.split(separator: "\n").count { $0.hasPrefix("user.lk=0x02") }
        }

        /// A crash undoes a removal just before it, and with it the use of the freed space.
        @Test func aFullDiskDoesNotStopTheMount() throws {
            // Any sync(2) on the machine, of another program too, makes the removal durable: then there is nothing to
            // undo, and the same contents are there.
            for _ in 1...5 where try Self.losesARemovalOnAFullDisk() { return }
            Issue.record("five crashes have undone no removal")
        }

        /// Whether the removed file is back after the crash.
        private static func losesARemovalOnAFullDisk() throws -> Bool {
            let (vault, disk) = try vault()
            try withMount(vault) { mount in
                try shell("head -c 1M /dev/zero > removed; echo 1 > kept; sync removed kept .", in: mount.path)
            }
            try run("sync", ["-f", disk.path]).succeeded()
            let mount = try MountedVault(vault)
            try shell("dd if=/dev/zero of=filling bs=1k 2> /dev/null || true; sync filling", in: disk.path)
            // The second sync changes no metadata of the disk.
            try shell("echo 2 >> kept; sync -d kept; rm removed; seq 15000 >> kept; sync -d kept", in: mount.path)
            try disk.losePower(under: mount.daemon) {
            } end: {
                mount.kill()
                mount.detach()
            }
            var isBack = false
            try withMount(vault) { mount in
                try shell("(echo 1; echo 2; seq 15000) | cmp kept", in: mount.path)
                isBack = FileManager.default.fileExists(atPath: mount.path + "/removed")
                try shell("rm -f removed; echo more >> kept; sync kept", in: mount.path)
            }
            return isBack
        }

        private static func vault(options: [String] = []) throws -> (Vault, LoopDisk) {
            let disk = try LoopDisk(options: options)
            let folder = try TemporaryFolder()
            let vault = try Vault(in: folder, at: disk.path)
            try run("sync", [disk.path]).succeeded()
            return (vault, disk)
        }
    }
}
