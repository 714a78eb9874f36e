import Glibc

/// `stress run FOLDER SEED CALLS [locks]` makes this many random calls on a tree on which other processes do the same.
/// It ends with status 1 at the first answer that no race explains; with `locks`, a lock explains ENOKEY.
///
/// `stress walk FOLDER` prints the whole tree, a line for each entry, and ends with status 1 at anything that cannot be
/// read.
@main
struct Main {
    static func main() {
        let arguments = CommandLine.arguments
        switch arguments.dropFirst().first {
        case "run" where arguments.count >= 5:
            guard let seed = UInt64(arguments[3]), let calls = Int(arguments[4]) else { exit(2) }
            let stress = Stress(in: arguments[2], seed: seed, isLocked: arguments.dropFirst(5).first == "locks")
            for _ in 0..<calls { stress.act() }
            stress.end()
        case "walk" where arguments.count == 3:
            var walk = Walk()
            walk.walk(arguments[2])
        default: exit(2)
        }
    }
}

/// Ends this process and prints why.
func fail(_ text: String) -> Never {
    print("wrong: \(text)")
    exit(1)
}
