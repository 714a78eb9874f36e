import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// `class set -R` over many files: it can be interrupted, and continues where it stopped.
    @Suite struct RecursiveClass {
        private static let count = 60

        private func makeFiles(_ scene: Scene) throws {
            try scene.makeFolder("folder")
            for number in 0..<Self.count {
                try scene.makeFile(name(number), [UInt8](seed: number, count: 20_000))
            }
        }

        private func name(_ number: Int) -> String { "folder/\(number + 100)" }

        /// The backing inode of each file: a file with a new key has a new inode.
        private func inodes(_ scene: Scene) throws -> [UInt64] {
            try (0..<Self.count).map { UInt64(try scene.probe.ask("stat", scene.path(name($0))).words()[5])! }
        }

        private func expectAllAreThere(_ scene: Scene, _ protection: ProtectionClass = .complete) throws {
            for number in 0..<Self.count {
                #expect(try scene.contents(name(number)) == [UInt8](seed: number, count: 20_000))
                #expect(try scene.classOf(name(number)) == protection)
            }
            #expect(try scene.probe.list(scene.path("folder")).count == Self.count, "no temporary copy")
        }

        /// Starts the command, and sends the signal once the first files are done.
        private func interrupt(
            _ scene: Scene, _ signal: Int32, _ protection: ProtectionClass = .complete
        ) throws -> (status: Int32, said: String) {
            let before = try inodes(scene)
            let output = try StreamFile()
            let input = try StreamFile()
            let child = try Child(
                Built.latchkey, ["class", "set", "-R", "--rekey", protection.rawValue, scene.path("folder")],
                environment: scene.mount.vault.environment, input: input.descriptor, output: output.descriptor,
                errors: output.descriptor)
            let end = ContinuousClock.now + .seconds(30)
            while try inodes(scene)[3] == before[3] {
                guard ContinuousClock.now < end else { throw HarnessError("no file has got a new key") }
            }
            child.send(signal)
            return (child.wait(), String(decoding: output.contents, as: UTF8.self))
        }

        @Test(arguments: [SIGINT, SIGTERM, SIGKILL]) func goesOnWhereItWasStopped(_ signal: Int32) throws {
            try withScene { scene in
                try makeFiles(scene)
                let before = try inodes(scene)
                let stopped = try interrupt(scene, signal)
                #expect(stopped.status == 128 + signal, "\(stopped)")
                if signal != SIGKILL {
                    #expect(stopped.said.contains("stopped; complete: "), "\(stopped)")
                    #expect(stopped.said.contains("goes on from there"), "\(stopped)")
                    #expect(try scene.probe.list(scene.path("folder")).count == Self.count + 1, "no temporary copy")
                }
                let then = try inodes(scene)
                let isDone = zip(before, then).map { $0 != $1 }
                #expect(isDone.contains(true) && isDone.contains(false), "stopped in the middle")

                try scene.mount.latchkey("class", "set", "-R", "--rekey", "complete", scene.path("folder")).succeeded()
                let after = try inodes(scene)
                for number in 0..<Self.count where !isDone[number] {
                    #expect(then[number] != after[number], "\(name(number)), once")
                }
                // If it is killed between the rename and the record of it, one file is done again.
                let again = (0..<Self.count).count { isDone[$0] && then[$0] != after[$0] }
                #expect(again <= (signal == SIGKILL ? 1 : 0), "not twice")
                try expectAllAreThere(scene)

                // The finished run has left no record: the next one starts anew.
                try scene.mount.latchkey("class", "set", "-R", "--rekey", "complete", scene.path("folder")).succeeded()
                let third = try inodes(scene)
                #expect(zip(after, third).allSatisfy { $0 != $1 })
            }
        }

        /// A file that came meanwhile by way of another class has a key that a weaker class has wrapped, whether a
        /// second interrupted run or an editor set its class in the end.
        @Test func onlyWhatHasGotANewKeyCountsAsDone() throws {
            try withScene { scene in
                try makeFiles(scene)
                _ = try interrupt(scene, SIGINT)
                for number in [0, 1, 2] {
                    try scene.probe.ask("unlink", scene.path(name(number))).required()
                    try scene.makeFile(name(number), class: ProtectionClass.none, [UInt8](seed: number, count: 20_000))
                    try scene.setClass(.complete, of: name(number))
                }
                let then = try inodes(scene)
                try scene.mount.latchkey("class", "set", "-R", "--rekey", "complete", scene.path("folder")).succeeded()
                let after = try inodes(scene)
                #expect((0...2).allSatisfy { after[$0] != then[$0] })
                #expect(after[3] == then[3], "that one was done")
                try expectAllAreThere(scene)
            }
        }

        /// A key that was made for a weaker class does not count as new for a stricter one.
        @Test func whatWasDoneForAnotherClassIsNotDone() throws {
            try withScene { scene in
                try makeFiles(scene)
                _ = try interrupt(scene, SIGINT, .none)
                try scene.mount.latchkey("class", "set", "-R", "complete", scene.path("folder")).succeeded()
                let then = try inodes(scene)
                try scene.mount.latchkey("class", "set", "-R", "--rekey", "complete", scene.path("folder")).succeeded()
                #expect(zip(then, try inodes(scene)).allSatisfy { $0 != $1 })
                try expectAllAreThere(scene)
            }
        }

        /// A file that got a weaker class since is done again.
        @Test func onlyWhatHasTheClassCountsAsDone() throws {
            try withScene { scene in
                try makeFiles(scene)
                _ = try interrupt(scene, SIGINT)
                try scene.setClass(.none, of: name(0))
                let then = try inodes(scene)
                try scene.mount.latchkey("class", "set", "-R", "--rekey", "complete", scene.path("folder")).succeeded()
                let after = try inodes(scene)
                #expect(after[0] != then[0])
                #expect(after[3] == then[3])
                try expectAllAreThere(scene)
            }
        }

        /// Temporary files of a killed run are removed; those of a run that is at work are not.
        @Test func copiesThatWereLeftAreRemoved() throws {
            try withScene { scene in
                try makeFiles(scene)
                try scene.makeFile("folder/.latchkey-rekey-0123456789abcdef")
                try scene.makeFile("folder/.latchkey-rekey-of-mine")
                try scene.mount.latchkey("class", "set", "-R", "--rekey", "complete", scene.path("folder")).succeeded()
                try scene.probe.ask("unlink", scene.path("folder/.latchkey-rekey-of-mine")).required()
                try expectAllAreThere(scene)
            }
        }

        @Test func twoAtOnceDoNotDisturbEachOther() throws {
            try withScene { scene in
                try makeFiles(scene)
                let outputs = try (0..<2).map { _ in try StreamFile() }
                let input = try StreamFile()
                let runs = try outputs.map { output in
                    try Child(
                        Built.latchkey, ["class", "set", "-R", "--rekey", "complete", scene.path("folder")],
                        environment: scene.mount.vault.environment, input: input.descriptor, output: output.descriptor,
                        errors: output.descriptor)
                }
                for (run, output) in zip(runs, outputs) {
                    let status = run.wait(seconds: 60)
                    let said = String(decoding: output.contents, as: UTF8.self)
                    let complaints = said.split(separator: "\n").filter {
                        $0.hasPrefix("latchkey: ") && !$0.contains("a program changed it meanwhile")
                            && !$0.contains(" failed") && !$0.contains("No such file")
                    }
                    #expect(status == 0 || status == 1, "\(said)")
                    #expect(complaints.isEmpty, "\(said)")
                }
                try expectAllAreThere(scene)
            }
        }

        /// A second run writes nothing: no file's ctime changes.
        @Test func whatHasItsClassIsLeftAlone() throws {
            try withScene { scene in
                try makeFiles(scene)
                try scene.mount.latchkey("class", "set", "-R", "complete", scene.path("folder")).succeeded()
                let before = try (0..<Self.count).map { try scene.probe.ask("stat", scene.path(name($0))).words() }
                let outcome = try scene.mount.latchkey("class", "set", "-R", "complete", scene.path("folder"))
                try outcome.succeeded()
                #expect(outcome.text == "complete: \(Self.count + 1) of \(Self.count + 1) set\n")
                let after = try (0..<Self.count).map { try scene.probe.ask("stat", scene.path(name($0))).words() }
                #expect(before == after)
            }
        }
    }
}
