import ArgumentParser
import Foundation
import Testing

@testable import latchkey

/// What `--help` prints, compared with Tests/LatchkeyTests/Help, so that every change is reviewed.
///
/// To accept a change: UPDATE_HELP=1 swift test --filter HelpTests
@Suite struct HelpTests {
    private static let commands: [(name: String, type: any ParsableCommand.Type)] = [
        ("latchkey", Latchkey.self), ("init", Init.self),
        ("protect", Protect.self), ("unprotect", Unprotect.self), ("mount", Mount.self), ("unmount", Unmount.self),
        ("open", Open.self), ("close", Close.self), ("list", List.self), ("config", ConfigCommand.self),
        ("config-check", ConfigCommand.Check.self),
        ("passwd", Passwd.self), ("fsck", Fsck.self), ("unlock", Unlock.self), ("lock", Lock.self),
        ("hold", HoldCommand.self),
        ("status", StatusCommand.self), ("monitor", Monitor.self),
        ("class", Class.self), ("class-get", Class.Get.self), ("class-set", Class.Set.self), ("explain", Explain.self),
        ("policy", PolicyCommand.self), ("policy-check", PolicyCommand.Check.self), ("speed", Speed.self),
        ("rotate", Rotate.self), ("synchronise", Synchronise.self), ("erase", Erase.self),
        ("keybag", KeybagCommand.self), ("keybag-backup", KeybagCommand.Backup.self),
        ("keybag-restore", KeybagCommand.Restore.self),
        ("device-key", DeviceKeyCommand.self), ("device-key-show", DeviceKeyCommand.Show.self),
        ("device-key-rebind", DeviceKeyCommand.Rebind.self), ("device-key-export", DeviceKeyCommand.Export.self),
        ("info", Info.self), ("doctor", Doctor.self),
        ("slot", SlotCommand.self), ("slot-list", SlotCommand.List.self),
        ("slot-add", SlotCommand.Add.self), ("slot-remove", SlotCommand.Remove.self),
        ("slot-test", SlotCommand.Test.self),
    ]

    @Test(arguments: commands.indices) func isAsItStands(_ index: Int) throws {
        let (name, type) = Self.commands[index]
        let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Help/\(name).txt")
        let help = Latchkey.helpMessage(for: type, columns: 80) + "\n"
        if ProcessInfo.processInfo.environment["UPDATE_HELP"] != nil {
            try Data(help.utf8).write(to: path)
        }
        #expect(try String(contentsOf: path, encoding: .utf8) == help)
        #expect(help.split(separator: "\n").allSatisfy { $0.hasPrefix("USAGE:") || $0.count <= 80 })
    }

    /// Each command's help ends with examples, and each of them is that command.
    @Test func examplesAreParsed() throws {
        func check(_ type: any ParsableCommand.Type, _ path: String) throws {
            for child in type.configuration.subcommands { try check(child, "\(path) \(child._commandName)") }
            guard type.configuration.subcommands.isEmpty else { return }
            let marks = type.configuration.discussion.components(separatedBy: "\n\nExamples:\n")
            let examples = marks.count == 2 ? marks[1].components(separatedBy: "\n") : []
            #expect((1...3).contains(examples.count), "\(path)")
            for example in examples {
                #expect(example.hasPrefix("  \(path)") && example.count <= 80, "\(example)")
                let words = example.split(separator: " ").map(String.init)
                let parsed = try Latchkey.parseAsRoot(Array(words.dropFirst()))
                #expect(Swift.type(of: parsed) == type, "\(example)")
            }
        }
        try check(Latchkey.self, "latchkey")
    }
}
