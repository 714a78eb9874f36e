import Glibc

/// `stress run FOLDER SEED CALLS [locks]` makes so many calls, chosen by chance, on a tree that other processes do the same
/// to. It ends with status 1 at the first answer that no race explains; with `locks`, ENOKEY is one that a lock explains.
///
/// `stress walk FOLDER` prints all that is there, a line each, and ends with status 1 at anything that cannot be read.
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

/// Ends this process with a line of why.
func fail(_ text: String) -> Never {
    print("wrong: \(text)")
    exit(1)
}
