import Foundation
import TestSupport

/// A program that asks for a passcode as those of ssh do: it notes each question and gives the answers in their order.
final class Asker {
    let path: String
    private let questionsFile: String

    /// - Parameters:
    ///   - answers: each is the body of a shell script.
    ///   - folder: where it lies, with what it needs.
    init(_ answers: [String], in folder: TemporaryFolder, name: String = "asker") throws {
        questionsFile = folder.path(name + ".questions")
        path = folder.path(name)
        var script = "#!/bin/sh\nprintf '%s\\0' \"$1\" >>'\(questionsFile)'\n"
        script += "case $(tr -dc '\\0' <'\(questionsFile)' | wc -c) in\n"
        for (number, answer) in answers.enumerated() { script += "\(number + 1)) \(answer) ;;\n" }
        _ = try folder.write(script + "*) exit 9 ;;\nesac\n", to: name)
        try shell("chmod 755 '\(path)'")
    }

    /// One that always gives the same answers.
    convenience init(typing passcodes: String..., in folder: TemporaryFolder, name: String = "asker") throws {
        try self.init(passcodes.map { "echo '\($0)'" }, in: folder, name: name)
    }

    /// Makes it ask as if for the first time.
    func forget() { try? FileManager.default.removeItem(atPath: questionsFile) }

    /// All questions so far.
    func questions() -> [String] {
        let bytes = (try? Disk.read(questionsFile)) ?? []
        return bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    }
}

extension Vault {
    /// A folder for PATH with the tools of an asker and no program that asks.
    func bareTools() throws -> String {
        let tools = folder.path("tools")
        try shell(
            """
            mkdir -p '\(tools)'
            for tool in cat head setsid sh sleep tr wc yes; do ln -sf "$(command -v $tool)" '\(tools)'/; done
            """)
        return tools
    }

    /// Runs latchkey without a terminal, as a desktop starts it: its standard input is /dev/null.
    func latchkey(
        _ arguments: [String], askingBy variables: [String: String], within seconds: Double = 60
    ) throws -> Outcome {
        try attempt(
            "setsid", ["--wait", "sh", "-c", "exec \"$0\" \"$@\" </dev/null", Built.latchkey] + arguments,
            environment: environment.merging(variables) { $1 }, within: seconds)
    }
}
