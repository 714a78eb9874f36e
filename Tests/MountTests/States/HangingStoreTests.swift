import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// A store that hangs while a lock comes: the keys go all the same, requests that wait get an error, and what fsync
    /// has acknowledged is there.
    @Suite(.enabled(if: geteuid() == 0, "root alone sees what waits for a file system")) struct HangingStore {
        private static let old = [UInt8](seed: 1, count: 40_000)
        private static let new = [UInt8](seed: 2, count: 4096)

        /// Programs that use one file each; killed at the end, after the store goes on.
        private func withScene(
            on store: any HangingFileSystem, grace: Int = 1, _ body: (MountedVault, [Probe]) throws -> Void
        ) throws {
            let vault = try Vault(["--default-class", "complete"], at: store.path + "/vault")
            let mount = try MountedVault(vault, grace: grace)
            let probes = try (0..<4).map { _ in try Probe() }
            defer {
                store.go()
                for probe in probes {
                    probe.process.send(SIGKILL)
                    probe.process.wait()
                }
                mount.detach()
                mount.daemon.send(SIGKILL)
                mount.daemon.wait()
            }
            for (number, probe) in probes.enumerated() { try probe.write(mount.file("\(number)"), Self.old) }
            // Nothing is in the page cache any more.
            try mount.lockNow()
            try mount.unlock()
            for number in probes.indices { try dropPages(ofStored: try mount.backingPath("\(number)")) }
            for (number, probe) in probes.enumerated() { try probe.open(0, mount.file("\(number)"), "rw").required() }
            try body(mount, probes)
            withExtendedLifetime(store) {}
        }

        /// Of a file that is synced: the next read of it reaches the store.
        private func dropPages(ofStored path: String) throws {
            let file = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC)
            guard file >= 0 else { throw HarnessError("open \(path): errno \(errno)") }
            defer { close(file) }
            guard posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0 else {
                throw HarnessError("cannot drop the pages of \(path)")
            }
        }

        private func expectLocked(_ mount: MountedVault, _ store: any HangingFileSystem) throws {
            let status = try mount.status()
            #expect(status.state == "locked")
            #expect(status.fileKeysInMemory == 0)
            #expect(!status.classKeys.contains("complete"))
            #expect(store.waiting > 0, "the store has stood still all the time")
        }

        /// The kernel repeats a READ that has failed, and is told then that the file is locked.
        private func expectGivenUp(_ reader: Probe, sourceLocation: SourceLocation = #_sourceLocation) throws {
            let answer = try reader.answer()
            #expect([.refused("ETIMEDOUT"), .noKey].contains(answer), sourceLocation: sourceLocation)
        }

        /// What a program may find where it has written `new` over `old`, by the answers to its write and its last
        /// fsync.
        private func expect(
            _ found: [UInt8], at offset: Int, afterWrite written: Answer, _ synced: Answer,
            sourceLocation: SourceLocation = #_sourceLocation
        ) {
            let (before, after) = (Array(Self.old[offset..<offset + 4096]), Self.new)
            if written.succeeded && synced.succeeded {
                #expect(found == after, "fsync has acknowledged it", sourceLocation: sourceLocation)
            } else {
                #expect(found == before || found == after, "neither old nor new", sourceLocation: sourceLocation)
            }
        }

        private func tryAll(on store: any HangingFileSystem, lock: (MountedVault) throws -> Void) throws {
            try withScene(on: store) { mount, probes in
                let (reader, writer, syncer, mapper) = (probes[0], probes[1], probes[2], probes[3])
                try mapper.map(0, 0, 40_000).required()
                try mapper.touch(0, 4096, 1).required()
                let written = try syncer.pwrite(0, 4096, Self.new).required()
                try store.stop()
                try mapper.store(0, 4096, Self.new).required()
                try reader.send(["pread", "0", "0", "4096"])
                try writer.send(["pwrite", "0", "4096", Self.new.hexadecimal])
                try syncer.send(["fsync", "0"])
                try store.untilWaiting(2)

                try lock(mount)
                try expectLocked(mount, store)
                try expectGivenUp(reader)
                let refusedWrite = try writer.answer()
                let refusedSync = try syncer.answer()
                #expect(refusedSync == .refused("ETIMEDOUT"))
                #expect(try reader.pread(0, 0, 3) == .noKey)

                // Unlocked and locked once more while nothing has changed.
                try mount.unlock()
                #expect(try mount.status().state == "unlocked")
                try mount.lockNow()
                try expectLocked(mount, store)

                store.go()
                try mount.unlock()
                let syncs = try [writer, syncer, mapper].map { try $0.ask("fsync", "0") }
                #expect(syncs[1] == .ok(), "a flush that was given up is not final")
                #expect(try reader.pread(0, 0, 4096).bytes() == Array(Self.old[..<4096]))
                expect(try reader.contents(mount.file("1"), 4096), at: 4096, afterWrite: refusedWrite, syncs[0])
                expect(try reader.contents(mount.file("2"), 4096), at: 4096, afterWrite: written, syncs[1])
                // Later writes and syncs work, and are not overwritten.
                for (number, probe) in probes.enumerated() {
                    try probe.pwrite(0, 8192, Self.new).required()
                    let synced = try probe.fsync(0)
                    if number < 3 { #expect(synced == .ok()) }
                }
                try mapper.ask("munmap", "0").required()
                for probe in probes { try probe.close(0).required() }
                mount.kill()
                mount.detach()

                let second = try MountedVault(mount.vault, at: "second")
                defer { second.detach() }
                for (number, sync) in [(1, syncs[0]), (2, syncs[1]), (3, syncs[2])] {
                    let write = number == 1 ? refusedWrite : .ok()
                    expect(
                        try reader.contents(second.file("\(number)"), 4096), at: 4096, afterWrite: write, sync)
                    #expect(try reader.contents(second.file("\(number)"), 8192) == Self.new)
                }
                try second.unmount()
                try mount.vault.latchkey(["fsck", mount.vault.path]).succeeded()
            }
        }

        @Test func losesTheKeysAtOnce() throws {
            try tryAll(on: try StoppableDisk()) { try $0.lockNow() }
        }

        @Test(.enabled(if: StoppableServer.isInstalled, "sshfs and OpenSSH's sftp-server are not installed"))
        func losesTheKeysAfterTheGracePeriod() throws {
            try tryAll(on: try StoppableServer()) { try $0.latchkey("lock", $0.path, "--wait").succeeded() }
        }

        /// The mount goes from the tree, its keys from memory; its daemon ends when the store has answered.
        @Test func canBeUnmountedLazily() throws {
            let store = try StoppableDisk()
            try withScene(on: store) { mount, probes in
                try store.stop()
                try probes[0].send(["pread", "0", "0", "4096"])
                try store.untilWaiting(1)
                try mount.latchkey("unmount", "--lazy", mount.path, within: 30).succeeded()
                #expect(mountLines(of: mount.path).isEmpty)
                try expectGivenUp(probes[0])
                // Without the vault's path, which lies in the store.
                let said = try mount.latchkey("status", within: 30).succeeded()
                #expect(said.text.contains("ending: \(mount.path) is unmounted"), "\(said)")
                #expect(try probes[0].pread(0, 0, 3) == .noKey)
                store.go()
                for probe in probes { try probe.close(0).required() }
                mount.expectEnded(status: 0)
            }
        }

        /// A second SIGTERM ends the process although nothing can be made durable. What the kernel cannot end is a
        /// thread that is in the store: the process is a zombie until that answers.
        @Test func doesNotKeepTheProcessFromEnding() throws {
            let store = try StoppableDisk()
            try withScene(on: store) { mount, probes in
                try probes[0].pwrite(0, 0, Self.new).required()
                try store.stop()
                mount.daemon.send(SIGTERM)
                let end = ContinuousClock.now + .seconds(60)
                while !mountLines(of: mount.path).isEmpty, ContinuousClock.now < end { usleep(1000) }
                mount.daemon.send(SIGTERM)
                while try state(of: mount.daemon.pid) != "Z" {
                    guard ContinuousClock.now < end else { throw HarnessError("the daemon does not end") }
                    usleep(10_000)
                }
                store.go()
                #expect(mount.daemon.wait(seconds: 20) == 1)
            }
        }

        private func state(of process: pid_t) throws -> Character? {
            let text = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
            return text.split(separator: ")").last?.first { $0 != " " }
        }
    }
}

extension Probe {
    /// The 4096 bytes at an offset of a file.
    fileprivate func contents(_ path: String, _ offset: Int) throws -> [UInt8] {
        try open(62, path).required("opening \(path)")
        defer { _ = try? close(62) }
        return try pread(62, offset, 4096).bytes()
    }
}
