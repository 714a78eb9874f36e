import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// No name controls the terminal, reverses text or forges a line, whatever command or log shows it.
    @Suite struct HostileNames {
        /// A terminal title ended by BEL; a line that imitates the program's output; U+202E; a control character of
        /// Unicode.
        private static let name =
            "\u{1b}]0;title\u{7}\nlatchkey: forged\nA  complete  set  forged\u{202e}gpj\u{9b}31m\u{200b}"
        /// The same name as the commands show it.
        private static let shown =
            "\\x1b]0;title\\x07\\nlatchkey: forged\\nA  complete  set  forged\\u202egpj\\u009b31m\\u200b"
        private static let raw: [UInt8] = Array("\u{1b}[2J\nforged".utf8) + [0xff, 0xfe]
        private static let shownRaw = "\\x1b[2J\\nforged\\xff\\xfe"

        /// Only printable characters in UTF-8, in lines that the program itself began.
        private func expectHarmless(
            _ text: [UInt8], _ what: String, sourceLocation: SourceLocation = #_sourceLocation
        ) {
            guard let text = String(validating: text, as: UTF8.self) else {
                Issue.record("\(what): not UTF-8", sourceLocation: sourceLocation)
                return
            }
            let hidden = text.unicodeScalars.filter { scalar in
                switch scalar.properties.generalCategory {
                case .control: scalar != "\n"
                case .format, .lineSeparator, .paragraphSeparator: true
                default: false
                }
            }
            #expect(hidden.isEmpty, "\(what): \(text.debugDescription)", sourceLocation: sourceLocation)
            for line in text.split(separator: "\n") {
                let isForged = ["latchkey: forged", "A  complete", "forged"].contains { line.hasPrefix($0) }
                #expect(!isForged, "\(what): \(line.debugDescription)", sourceLocation: sourceLocation)
            }
        }

        /// Runs a command, which must show the name escaped, or not at all.
        @discardableResult private func look(
            _ vault: Vault, _ words: String..., status: Int32? = 0, showing shown: String? = HostileNames.shown,
            input: String = "", sourceLocation: SourceLocation = #_sourceLocation
        ) throws -> Outcome {
            let outcome = try vault.latchkey(words, input: Array(input.utf8))
            if let status { #expect(outcome.status == status, "\(outcome)", sourceLocation: sourceLocation) }
            let what = words.prefix(2).joined(separator: " ")
            expectHarmless(outcome.output, what, sourceLocation: sourceLocation)
            expectHarmless(Array(outcome.errors.utf8), what, sourceLocation: sourceLocation)
            if let shown {
                let said = outcome.text + outcome.errors
                #expect(said.contains(shown), "\(what): \(said)", sourceLocation: sourceLocation)
            }
            return outcome
        }

        private func python(_ script: String, _ words: String...) throws {
            try run("python3", ["-c", script] + words).succeeded()
        }

        private func waitForLog(_ text: String, of mount: MountedVault) {
            let end = ContinuousClock.now + .seconds(10)
            while !mount.messages.contains(text), ContinuousClock.now < end { usleep(5_000) }
            #expect(mount.messages.contains(text), "\(mount.messages)")
        }

        /// The vault, the mount, a folder and the files in it all have such names.
        @Test func everyCommandThatShowsANameEscapesIt() throws {
            let folder = try TemporaryFolder()
            let vault = try Vault(in: folder, at: folder.path("vault" + Self.name))
            let mount = try MountedVault(vault, at: "mount" + Self.name)
            let file = mount.file("file" + Self.name)
            try python(
                """
                import os, sys
                root = os.fsencode(sys.argv[1])
                name = os.fsencode(sys.argv[2])
                os.mkdir(root + b"/dir" + name)
                folder = b"/dir" + name + b"/"
                for path in (b"/file" + name, folder + b"inner" + name, folder + bytes.fromhex(sys.argv[3])):
                    with open(root + path, "wb") as file: file.write(b"x" * 5000)
                """, mount.path, Self.name, Self.raw.hexadecimal)

            try look(vault, "class", "get", file)
            try look(vault, "class", "set", "complete", file, mount.path, showing: nil)
            try look(vault, "class", "get", mount.path + "/absent" + Self.name, status: 1)
            try look(vault, "class", "set", "-R", "--rekey", "A", mount.file("dir" + Self.name), showing: nil)
            try look(vault, "explain", file)
            try look(vault, "explain", "--ciphertext", file)
            try look(vault, "explain", "--json", file, showing: nil)
            try look(vault, "status")
            try look(vault, "status", mount.path)
            try look(vault, "status", "--json", showing: nil)
            try look(
                vault, "slot", "add", "key-file", "--name", "\u{1b}[2J\nforged\u{202e}", "--new-file",
                folder.path("key" + Self.name), "--passcode-file", vault.passcodeFile, mount.path, showing: nil)
            try look(vault, "slot", "list", mount.path, showing: "\\x1b[2J\\nforged\\u202e")
            try look(
                vault, "slot", "test", "--key-file", folder.path("key" + Self.name), mount.path,
                showing: "\\x1b[2J\\nforged\\u202e")
            try look(vault, "device-key", "show", mount.path, showing: nil)
            try look(vault, "policy", "check", mount.path, status: nil, showing: nil)
            try look(vault, "mount", vault.path, mount.path, status: nil)
            try look(vault, "init", vault.path, status: nil)
            try look(vault, "erase", mount.path, status: 2)
            // Words that the argument parser quotes.
            try look(vault, "status", "--" + Self.name, status: 2)
            try look(vault, "class", "set", Self.name, file, status: 2)
            try look(vault, "mount", "--grace=" + Self.name, vault.path, mount.path, status: 2)

            // A program of such a name holds a file.
            let program = folder.path("p\u{1b}[2J\nforged")
            try python("import shutil, sys; shutil.copy('/bin/sleep', sys.argv[1])", program)
            let holder = try python(holding: file, program)
            try look(vault, "status", "--holders", mount.path, showing: "(p\\x1b[2J\\nforged): A: 1 open")
            try look(vault, "unmount", mount.path, status: 1)
            holder.send(SIGKILL)
            holder.wait()
            try look(vault, "lock", "--now", "--wait", mount.path)
            try look(vault, "class", "set", "D", file, status: 4)
            let dir = mount.file("dir" + Self.name)
            let refused = try look(vault, "class", "set", "-R", "D", dir, status: 4)
            #expect(refused.errors.contains("/\(Self.shownRaw): the key that it needs"), "\(refused)")
            try look(vault, "rotate", mount.path, "--passcode-file", vault.passcodeFile, "--yes", status: nil)
            try look(vault, "unlock", mount.path, "--passcode-file", vault.passcodeFile, showing: nil)

            // A file is damaged: the daemon's log tells, and fsck, and its report.
            let backing = try JSONDecoder().decode(
                [Explained].self, from: Data(try vault.latchkey(["explain", "--json", file]).succeeded().output))
            let raw = try Explained.backingPath(inFolder: mount.file("dir" + Self.name), of: vault)
            try BackingFile(try #require(backing.first).backingPath).edit { $0[100] ^= 1 }
            try BackingFile(raw).edit { $0[100] ^= 1 }
            try python(
                """
                import os, sys
                for folder, _, names in os.walk(os.fsencode(sys.argv[1])):
                    for name in names:
                        try: open(os.path.join(folder, name), "rb").read()
                        except OSError: pass
                """, mount.path)
            waitForLog("path=/file\(Self.shown) reason=", of: mount)
            waitForLog("path=/dir\(Self.shown)/\(Self.shownRaw) reason=", of: mount)
            try mount.unmount()
            expectHarmless(Array(mount.messages.utf8), "the log: \(mount.messages)")
            #expect(mount.messages.contains("mounted at=") && mount.messages.contains(Self.shown))

            try look(vault, "fsck", vault.path, "--passcode-file", vault.passcodeFile, status: 6)
            let found = try look(vault, "fsck", vault.path, status: 6, showing: "dir\(Self.shown)/\(Self.shownRaw): ")
            #expect(found.text.contains("damage: /file\(Self.shown): "), "\(found)")
            try look(vault, "fsck", "--json", vault.path, status: 6, showing: nil)
            try look(
                vault, "fsck", "--repair", "--unlock", "--passcode-file", vault.passcodeFile, vault.path, status: nil)
            try withMount(vault) { mount in
                let report = try Disk.read(mount.file("lost+found/REPORT.txt"))
                expectHarmless(report, "REPORT.txt")
                #expect(String(decoding: report, as: UTF8.self).contains("/dir\(Self.shown)/\(Self.shownRaw)"))
            }
            try look(vault, "erase", "--yes", "--files", vault.path)
        }

        /// Programs that read JSON or the output of `-0` get the exact bytes.
        @Test func programsGetNamesAsTheyAre() throws {
            try withMount(try Vault()) { mount in
                let file = mount.file("file" + Self.name)
                try python("import sys; open(sys.argv[1], 'w')", file)
                let outcome = try mount.latchkey("class", "get", "-0", file, mount.path).succeeded()
                #expect(
                    outcome.text == "C\tcomplete-until-first-user-authentication\tinherited\t\(file)\0"
                        + "C\tcomplete-until-first-user-authentication\tset\t\(mount.path)\0", "\(outcome)")
                let explained = try JSONDecoder().decode(
                    [Explained].self, from: Data(try mount.latchkey("explain", "--json", file).succeeded().output))
                #expect(explained.map(\.path) == [file])
            }
        }

        /// No other file is taken for one whose name is not UTF-8.
        @Test func anArgumentThatIsNotUTF8IsThatFile() throws {
            try withMount(try Vault()) { mount in
                let outcome = try attemptShell(
                    """
                    cd '\(mount.path)'
                    : > $'caf\\xe9'
                    : > $'caf\\uFFFD'
                    '\(Built.latchkey)' class set A $'caf\\xe9'
                    '\(Built.latchkey)' class get $'caf\\xe9' $'caf\\uFFFD'
                    """
                ).succeeded()
                #expect(
                    outcome.text.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") } == [
                        "A complete set caf\\xe9",
                        "C complete-until-first-user-authentication inherited caf\u{fffd}",
                    ], "\(outcome)")
            }
        }

        /// A process that holds the file open, run from a program with this name.
        private func python(holding file: String, _ program: String) throws -> Child {
            let ready = try StreamFile()
            let none = try StreamFile()
            let child = try Child(
                "python3",
                [
                    "-c",
                    """
                    import os, sys
                    number = os.open(sys.argv[1], os.O_RDONLY)
                    os.set_inheritable(number, True)
                    os.write(1, b"ready")
                    os.execv(sys.argv[2], [sys.argv[2], "600"])
                    """, file, program,
                ], input: none.descriptor, output: ready.descriptor, errors: none.descriptor)
            let end = ContinuousClock.now + .seconds(20)
            // The process has the other program's name a moment after it has the file.
            let name = "/proc/\(child.pid)/comm"
            while (try? String(contentsOfFile: name, encoding: .utf8))?.hasPrefix("p\u{1b}") != true {
                guard ContinuousClock.now < end else { throw HarnessError("no holder: \(none.contents)") }
                usleep(5_000)
            }
            return child
        }
    }
}

/// What `explain --json` says of a file.
private struct Explained: Decodable {
    let path: String
    let backingPath: String

    /// The path of the file with the shortest stored name in a folder: one of a short name.
    static func backingPath(inFolder path: String, of vault: Vault) throws -> String {
        let outcome = try vault.latchkey(["explain", "--json", path]).succeeded()
        let folder = try JSONDecoder().decode([Explained].self, from: Data(outcome.output))[0].backingPath
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { !$0.hasPrefix("lk.") }
        guard let name = names.min(by: { $0.utf8.count < $1.utf8.count }) else {
            throw HarnessError("nothing in \(folder)")
        }
        return folder + "/" + name
    }
}
