import ArgumentParser
import Failure
import Format
import Glibc
import Posix

/// This program as mount(8) calls it: `mount.latchkey SOURCE DIR [-sfnv] [-N namespace] [-o options] [-t type]`, by
/// that name or as `mount.fuse.latchkey`; mount.fuse3(8) calls it `latchkey SOURCE DIR -o options`.
///
/// It translates the options of mount(8) into those of `latchkey mount`, which parses and checks them.
///
/// Source: mount(8), "External helpers".
struct MountHelper {
    /// The exit codes of mount(8).
    enum Code: Int32 {
        /// Incorrect call, or not permitted.
        case usage = 1
        case systemError = 2
        case interrupted = 8
        case failure = 32
    }

    private var source = ""
    private var folder: Path = ""
    private var lists: [String] = []
    private var namespace: String?
    /// Unknown options are ignored.
    private var isSloppy = false
    /// Only checks.
    private var isFake = false
    private var isVerbose = false

    /// Does what mount(8), umount(8) or mount.fuse3(8) wants, and ends the process with an exit code of mount(8).
    /// Returns if none of them has called the program.
    ///
    /// - Parameter arguments: with the program's name.
    static func runIfCalled(_ arguments: [String]) {
        let name = arguments.first?.split(separator: "/").last.map(String.init) ?? ""
        switch name {
        case "mount.latchkey", "mount.fuse.latchkey":
            end { try MountHelper(arguments).run() }
        case "umount.latchkey", "umount.fuse.latchkey":
            end { try UnmountHelper(arguments).run() }
        default:
            // mount.fuse3(8) hands over the words of fstab(5), where DIR is absolute; others are typing errors.
            guard arguments.count == 5, arguments[3] == "-o", !Latchkey.commands.contains(arguments[1]),
                arguments[2].hasPrefix("/") || arguments[1].contains("/")
            else { return }
            end { try MountHelper(arguments).run() }
        }
    }

    private static func end(_ body: () throws -> Void) -> Never {
        // A prompt restores the terminal before it passes the signal on.
        signal(SIGINT) { _ in _exit(Code.interrupted.rawValue) }
        do {
            try body()
            exit(0)
        } catch let error as CommandError {
            Standard.error(error.text)
            exit((error.code == .usage ? Code.usage : .failure).rawValue)
        } catch let failure as Failure {
            Standard.error(CommandError(failure).text)
            exit(Code.failure.rawValue)
        } catch let ended as Ended {
            // It has said why.
            exit((ended.code == .usage ? Code.usage : .failure).rawValue)
        } catch let error as ValidationError {
            Standard.error("latchkey: \(Main.printable(error.message))")
            exit(Code.usage.rawValue)
        } catch let error as HelperError {
            Standard.error(CommandError(.failed, error.message, advice: error.advice).text)
            exit(error.code.rawValue)
        } catch {
            // The parser of `latchkey mount`.
            Standard.error("latchkey: \(Main.printable(Latchkey.message(for: error)))")
            exit(Code.usage.rawValue)
        }
    }

    private init(_ arguments: [String]) throws {
        var places: [String] = []
        var rest = arguments.dropFirst()
        func value(of option: String) throws -> String {
            guard let value = rest.popFirst() else { throw Self.usage("\(option) has no value") }
            return value
        }
        while let word = rest.popFirst() {
            switch word {
            case "-o": lists.append(try value(of: word))
            case "-t": _ = try value(of: word)
            case "-N": namespace = try value(of: word)
            case _ where word.hasPrefix("-") && word.count > 1 && places.count < 3:
                for letter in word.dropFirst() { try take(letter) }
            default: places.append(word)
            }
        }
        guard places.count == 2 else { throw Self.usage("it takes a vault and a folder") }
        (source, folder) = (places[0], Path(argument: places[1]))
    }

    private mutating func take(_ letter: Character) throws {
        switch letter {
        case "s": isSloppy = true
        case "f": isFake = true
        case "v": isVerbose = true
        case "r": lists.append("ro")
        case "w": lists.append("rw")
        // The mount is in the kernel's table, and there is no other one.
        case "n": break
        default: throw Self.usage("-\(Path(argument: String(letter))) is no option of mount(8)'s helpers")
        }
    }

    private static func usage(_ reason: Printable) -> HelperError {
        HelperError(.usage, "\(reason): mount.latchkey VAULT DIR [-sfnvrw] [-N NAMESPACE] [-o OPTIONS] [-t TYPE]")
    }

    private func run() throws {
        let options = try HelperOptions(lists, isSloppy: isSloppy)
        if options.isRemount {
            let remount = try Remount(options, folder: folder)
            if !isFake { try remount.run() }
            return
        }
        let words = ["mount"] + (try options.arguments()) + ["--", source, ArgumentWords.text(folder.bytes)]
        var command = try Latchkey.parseAsRoot(words)
        if isVerbose { Standard.error("latchkey \(words.map { Path(argument: $0).quoted }.joined(separator: " "))") }
        if isFake { return }
        if let namespace { try MountNamespace.enter(namespace) }
        ServingUser.completeEnvironment()
        if let user = options.user { try ServingUser(user).become() }
        try command.run()
    }
}

/// Why a helper of mount(8) did not do what was asked.
struct HelperError: Error {
    let code: MountHelper.Code
    let message: Printable
    let advice: [Printable]

    init(_ code: MountHelper.Code, _ message: Printable, try advice: Printable...) {
        (self.code, self.message, self.advice) = (code, message, advice)
    }
}
