import Foundation
import Testing

extension MountTests {
    /// Eight processes that make, move, link, cut, map, mark and remove things in one tree, each without a thought for the
    /// others (after fsstress). No answer may be one that a race does not explain, and what there is in the end must be sound.
    @Suite struct SharedTree {
        private static let calls = 1000

        @Test func holdsUnderEightProcesses() throws {
            try stress(.completeUntilFirstUserAuthentication) { _ in }
        }

        /// ENOKEY is an answer too then.
        @Test func holdsWhileItIsLockedAndUnlocked() throws {
            try stress(.complete, "locks") { mount in
                try mount.lockNow()
                try mount.unlock()
            }
        }

        /// - Parameter meanwhile: done again and again while the processes run.
        private func stress(
            _ protection: ProtectionClass, _ options: String..., meanwhile: (MountedVault) throws -> Void
        ) throws {
            let seed = ProcessInfo.processInfo.environment["LATCHKEY_SEED"].flatMap { Int($0) } ?? 1
            let vault = try Vault(["--default-class", protection.rawValue])
            let before = try withMount(vault) { mount in
                let said = try (0..<8).map { _ in try StreamFile() }
                let processes = try said.indices.map { index in
                    try Child(
                        Built.stress, ["run", mount.path, "\(seed * 8 + index)", "\(Self.calls)"] + options,
                        input: said[index].descriptor, output: said[index].descriptor, errors: said[index].descriptor)
                }
                let end = ContinuousClock.now + .seconds(120)
                repeat {
                    try meanwhile(mount)
                } while processes.contains { $0.wait(seconds: 0.05) == nil } && ContinuousClock.now < end
                for (process, said) in zip(processes, said) {
                    let words = String(decoding: said.contents, as: UTF8.self).split(separator: " ")
                    #expect(process.wait(seconds: 0) == 0, "seed \(seed): \(words.joined(separator: " ").suffix(500))")
                    #expect(words.count > 1 && Int(words[1])! > Self.calls / 2, "seed \(seed): \(words)")
                }
                try mount.untilNothingIsOpen()
                for level in ["warning", "error", "critical"] {
                    #expect(!mount.messages.contains(" \(level): "), "seed \(seed): \(mount.messages.suffix(2000))")
                }
                return try walk(mount)
            }
            let found = try vault.fsck()
            #expect(found.findings.isEmpty && found.complete && found.filesNotRead == 0, "seed \(seed): \(found)")
            #expect(found.files > 50 && found.folders > 5)
            let after = try withMount(vault) { try walk($0) }
            #expect(before == after, "seed \(seed): \(before.symmetricDifference(after).prefix(5))")
        }

        /// A line for each entry.
        private func walk(_ mount: MountedVault) throws -> Set<Substring> {
            Set(try run(Built.stress, ["walk", mount.path]).succeeded().text.split(separator: "\n"))
        }

        /// A name that is given to one thing after another is there at every moment.
        @Test func aNameThatIsReplacedIsAlwaysThere() throws {
            try withScene { scene in
                let said = try run("python3", ["-c", Self.replacing, scene.mount.path]).succeeded().text
                #expect(said == "there\nthere\n")
            }
        }

        private static let replacing = """
            import os, select, sys
            os.chdir(sys.argv[1])
            os.mkdir("folder")
            open("name", "w").close()
            end, other = os.pipe()

            def watch():
                os.close(other)
                while not select.select([end], [], [], 0)[0]:
                    os.stat("name")
                print("there", flush=True)

            for _ in range(2):
                if os.fork() == 0:
                    try: watch()
                    finally: os._exit(0)
            for _ in range(300):
                os.symlink("folder", "new"); os.rename("new", "name")
                open("new", "w").close(); os.rename("new", "name")
                os.mkfifo("new"); os.rename("new", "name")
            os.close(other)
            for _ in range(2): os.wait()
            """
    }
}
