import CrashSimulator
import Foundation
import TestSupport
import Testing

extension MountTests.PowerLosses {
    @Suite struct Repositories {
        /// Commits, each made durable including its names, which git itself does not do. The pack is made durable
        /// before the objects that it replaces are removed: `git gc` relies on the order of names, and loses objects on
        /// file systems without it.
        private static func commit(_ number: Int) -> String {
            """
            mkdir -p src/$((\(number) % 3)); seq \(number * 10) > src/$((\(number) % 3))/file\(number % 5)
            echo \(number) > count; git add -A
            git commit -q -m 'number \(number)'
            test \(number) != 6 || { git repack -q -a; find . -depth -print0 | xargs -0 sync; git prune-packed -q; }
            find . -depth -print0 | xargs -0 sync
            git rev-parse HEAD
            """
        }

        private static let settings =
            "git config core.fsync all; git config core.fsyncMethod fsync; git config gc.auto 0"

        @Test func keepAcknowledgedCommits() throws {
            let mount = try RecordedMount()
            var told = Acknowledgements<String>()
            try shell("git init -q --template= -b main work; cd work; \(Self.settings); sync ..", in: mount.path)
                .succeeded()
            for number in 1...12 {
                let hash = try shell(Self.commit(number), in: mount.file("work")).succeeded().text
                told.add(hash.trimmingCharacters(in: .newlines), at: try mount.count())
            }
            let recorded = try mount.end()
            let folder = try StateFolder()
            for order in SimulatedDisk.Order.allCases {
                try losePower("git commits", order, recorded, states: 60) { state, crash in
                    try mount.keys.check(state) { observation in
                        try folder.hold(observation)
                        let commits = told.all.prefix(told.count(before: crash)).map(\.value)
                        return observation.violations + (try Self.violations(in: folder.path + "/work", commits, order))
                    }
                }
            }
        }

        private static func violations(
            in path: String, _ commits: [String], _ order: SimulatedDisk.Order
        ) throws -> [Violation] {
            guard let last = commits.last else { return [] }
            // No object of the acknowledged commits may be missing or damaged.
            let history = try attempt("git", ["-C", path, "rev-list", "--count", last])
            let objects = try attemptShell(
                "git rev-list --objects \(last) | cut -c1-40 | git cat-file --batch > /dev/null", in: path)
            guard history.status == 0, objects.status == 0, history.text == "\(commits.count)\n" else {
                return [Violation(.program, "commit \(commits.count) of \(commits.count): \(history) \(objects)")]
            }
            // A branch that refers to objects that were not durable is git's own fault where names have no order.
            guard order == .ordered else { return [] }
            let check = try attempt("git", ["-C", path, "fsck", "--strict", "--no-dangling"])
            let isAncestor = try attempt("git", ["-C", path, "merge-base", "--is-ancestor", last, "HEAD"])
            guard check.status == 0, isAncestor.status == 0 else {
                return [Violation(.program, "\(check) \(isAncestor)")]
            }
            return []
        }
    }
}
