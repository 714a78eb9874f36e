import Glibc
import Synchronization
import Tampering

/// Runs the rows of the table, or those whose names contain one of the arguments, and prints it; status 1 on a
/// violation. With `--every NUMBER` first, a sample of each row.
///
/// An attempt that never ends is stopped after a minute without progress, status 3; a crash ends the program as usual.
@main struct Main {
    static func main() throws {
        watch()
        var wanted = CommandLine.arguments.dropFirst()
        var extent = Bench.Extent.all
        if wanted.first == "--every" {
            guard let every = wanted.dropFirst().first.flatMap({ Int($0) }), every > 0 else {
                say("usage: tamper [--every NUMBER] [WORD...]")
                exit(2)
            }
            extent = .sample(every: every)
            wanted = wanted.dropFirst(2)
        }
        let scene = try TamperScene()
        say("\(scene.files.count) files of four classes, \(scene.knowledge.paths.count) paths")
        say(row("attack", "tries", "right", "EIO", "documented", "violations"))
        var total = Tally()
        for attack in Attack.all where wanted.isEmpty || wanted.contains(where: attack.name.contains) {
            let tally = try attack.run(on: scene, extent)
            say(row(attack.name, tally))
            if tally.documented > 0, let words = attack.documented?.words { say("    documented: \(words)") }
            for violation in tally.violations.prefix(10) { say("    VIOLATION: \(violation)") }
            total.add(tally)
        }
        say(row("all", total))
        exit(total.violations.isEmpty ? 0 : 1)
    }

    private static func row(_ name: String, _ tally: Tally) -> String {
        row(
            name, "\(tally.tries)", "\(tally.right)", "\(tally.refused)", "\(tally.documented)",
            "\(tally.violations.count)")
    }

    private static func row(_ name: String, _ cells: String...) -> String {
        name + String(repeating: " ", count: max(1, 70 - name.count))
            + cells.map { String(repeating: " ", count: max(1, 11 - $0.count)) + $0 }.joined()
    }

    /// Printed at once: if the program dies, the last line says what it was doing.
    private static func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = unsafe write(1, bytes, bytes.count)
    }

    private static func watch() {
        var thread = pthread_t()
        unsafe pthread_create(
            &thread, nil,
            { _ in
                var last = -1
                while true {
                    sleep(60)
                    let now = Bench.progress.load(ordering: .relaxed)
                    if now == last {
                        Main.say("VIOLATION: a try does not end")
                        exit(3)
                    }
                    last = now
                }
            }, nil)
    }
}
