import Foundation
import TestSupport
import Testing

extension MountTests {
    /// Real shells at a terminal: what a line becomes when Tab is pressed at its end, and what two tabs show.
    @Suite struct ShellCompletion {
        private struct Case: Encodable {
            var type: String?
            var list: String?
        }

        /// Those that are installed: tools/test installs them all.
        static let shells = ["bash", "bash-completion", "zsh", "fish"].filter { shell in
            let package = "/usr/share/bash-completion/bash_completion"
            return FileManager.default.fileExists(atPath: shell == "bash-completion" ? package : "/usr/bin/\(shell)")
        }

        private func answers(_ shell: String, _ cases: [Case], _ folder: TemporaryFolder) throws -> [Any] {
            let language = shell == "bash-completion" ? "bash" : shell
            let script = try folder.write(
                run(Built.latchkey, ["--generate-completion-script", language]).text, to: "script")
            let driver = Built.project + "/Tests/MountTests/Completion/drive.py"
            let outcome = try run(
                "python3", [driver, shell, script, Built.folder], input: Array(JSONEncoder().encode(cases)),
                within: 200)
            return try #require(JSONSerialization.jsonObject(with: Data(outcome.output)) as? [Any])
        }

        /// Types each line, presses Tab, and compares the arguments that the program would get.
        private func expect(_ shell: String, _ expected: [(typed: String, arguments: [String])]) throws {
            let folder = try TemporaryFolder()
            let answers = try answers(shell, expected.map { Case(type: "latchkey " + $0.typed) }, folder)
            for (answer, wanted) in zip(answers, expected) {
                // zsh takes the slash behind a folder back when the line is entered.
                let words = (answer as? [String])?.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 }
                #expect(words == wanted.arguments, "\(shell): \(wanted.typed): \(answer)")
            }
        }

        @Test(arguments: shells) func completesWordsAndPaths(_ shell: String) throws {
            let folder = try TemporaryFolder()
            let names: [String: String] = [
                "my": "my vault", "it": "it's", "qu": "quo\"te", "do": "dol$lar", "ba": "bac\\k", "co": "col:on",
                "eq": "eq=al", "\\(p": "(paren)", "ü": "ümlaut", "\\#h": "#hash", "st": "star*", "an": "and&",
                "se": "semi;", "bu": "bu!ng", "br": "brack[et]", "ti": "til~de", "col:o": "col:on",
                "my\\ v": "my vault",
            ]
            for name in Set<String>(names.values) { _ = try folder.makeFolder(name) }
            let file = try folder.write("", to: "x file")
            var expected: [(typed: String, arguments: [String])] = []
            for (typed, name) in names {
                expected.append(("lock \(folder.path)/\(typed)", ["lock", folder.path(name)]))
            }
            expected.append(("explain '\(folder.path)/x f", ["explain", file]))
            expected.append(("explain \"\(folder.path)/x f", ["explain", file]))
            expected.append(("class set complete \(folder.path)/x", ["class", "set", "complete", file]))
            expected.append(("unlock --passcode-file \(folder.path)/x", ["unlock", "--passcode-file", file]))
            expected.append(("unlock --passcode-file=\(folder.path)/x", ["unlock", "--passcode-file=\(file)"]))
            expected.append(("unl", ["unlock"]))
            expected.append(("mount --lock-w", ["mount", "--lock-when-idle"]))
            expected.append(("mount --when-locked=fr", ["mount", "--when-locked=freeze"]))
            expected.append(("class set complete-unl", ["class", "set", "complete-unless-open"]))
            try expect(shell, expected)
        }

        @Test(arguments: shells) func completesMountsAndSlots(_ shell: String) throws {
            let vault = try Vault()
            let folder = try TemporaryFolder()
            let point = try folder.makeFolder("zz mount: $1")
            try vault.latchkey(["mount", vault.path, point]).succeeded()
            defer { _ = try? vault.latchkey(["unmount", point]) }
            let words = try answers(
                shell,
                [
                    Case(type: "latchkey unlock \(folder.path)/"), Case(list: "latchkey unlock "),
                    Case(list: "latchkey mount --f"),
                ], folder)
            // The script lies in the same folder, but is neither a mount nor a folder.
            #expect((words[0] as? [String])?.last?.hasPrefix(point) == true, "\(words[0])")
            #expect((words[1] as? String)?.contains("zz") == true, "\(words[1])")
            #expect((words[2] as? String)?.contains("--foreground") == true, "\(words[2])")
        }

        @Test func namesOfTheConfiguration() throws {
            let folder = try TemporaryFolder()
            _ = try folder.makeFolder("latchkey")
            _ = try folder.write("[vaults.work]\nfolder = \"/srv/work\"\n", to: "latchkey/config.toml")
            var environment = Environment.plain
            environment["XDG_CONFIG_HOME"] = folder.path
            for words in [["open", "w"], ["close", "w"], ["lock", "w"], ["mount", "w"]] {
                let answer = try run(Built.latchkey, ["---complete", "1"] + words, environment: environment).text
                #expect(answer.contains("work\tvault in /srv/work\n"), "\(words): \(answer)")
            }
            // A mistake in the file is no matter of the prompt.
            _ = try folder.write("wrong", to: "latchkey/config.toml")
            let outcome = try run(Built.latchkey, ["---complete", "1", "open", ""], environment: environment)
            #expect(outcome.text == "none\n" && outcome.errors.isEmpty)
        }

        @Test func slotsOfTheVaultThatTheLineNames() throws {
            let vault = try Vault()
            let answer = try run(Built.latchkey, ["---complete", "2", "slot", "remove", "", vault.path]).text
            #expect(answer.contains("1\tpasscode"))
            #expect(answer.contains("2\trecovery-key"))
            try withMount(vault) { mount in
                let mounted = try run(Built.latchkey, ["---complete", "2", "slot", "remove", "", mount.path]).text
                #expect(mounted == answer)
            }
            // Nothing that is wrong stands at the prompt.
            for words in [["---complete"], ["---complete", "x"], ["---complete", "9", "lock"]] {
                let outcome = try run(Built.latchkey, words)
                #expect(outcome.errors.isEmpty)
            }
            let none = try run(Built.latchkey, ["---complete", "2", "slot", "remove", "", "/nonexistent"])
            #expect(none.text == "none\n" && none.errors.isEmpty)
        }

        @Test func aMountWhoseDaemonIsDeadIsOfferedAtOnce() throws {
            let vault = try Vault()
            let mount = try MountedVault(vault)
            mount.kill()
            #expect(
                try run(Built.latchkey, ["---complete", "1", "unmount", mount.path], within: 10).text
                    .contains("\(mount.path)\tmount of"))
        }
    }
}
