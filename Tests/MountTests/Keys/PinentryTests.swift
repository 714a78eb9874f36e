import Foundation
import TestSupport
import Testing

extension MountTests {
    /// pinentry asks in a window.
    @Suite struct PasscodesByPinentry {
        /// A pinentry whose answers are those of a script: a Python expression of bytes for each GETPIN, in order.
        private struct Scene {
            let vault: Vault
            let variables: [String: String]
            private let log: String

            init(_ answers: String..., greeting: String = "OK ready") throws {
                vault = try Vault()
                let tools = try vault.bareTools()
                log = vault.folder.path("log")
                let python = try run("python3", ["-c", "import sys; print(sys.executable, end='')"]).text
                let script = """
                    #!\(python)
                    import os, signal, sys, time
                    answers = [\(answers.joined(separator: ", "))]
                    log = "\(log)"
                    def say(line): sys.stdout.buffer.write(line); sys.stdout.flush()
                    say(b"\(greeting)\\n")
                    for line in sys.stdin:
                        with open(log, "a") as file: file.write(line)
                        if line == "GETPIN\\n":
                            answer = answers[open(log).read().count("GETPIN") - 1]
                            # After OK comes BYE, and a signal beside it, which must not end it before it has read BYE.
                            if answer.endswith(b"OK\\n"): signal.signal(signal.SIGTERM, signal.SIG_IGN)
                            say(answer)
                        elif line == "BYE\\n":
                            say(b"OK\\n")
                            break
                        else:
                            say(b"# a comment\\nS status\\nOK done\\n")
                    """
                _ = try vault.folder.write(script, to: "tools/pinentry")
                try shell("chmod 755 '\(tools)/pinentry'")
                variables = ["PATH": tools, "DISPLAY": ":77"]
            }

            func test(_ more: [String: String] = [:]) throws -> Outcome {
                try vault.latchkey(
                    ["slot", "test", vault.path], askingBy: variables.merging(more) { $1 })
            }

            func lines() -> [String] {
                let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
                return text.split(separator: "\n").map(String.init)
            }
        }

        private static let right = "b'D correct%20horse\\nD %20battery staple\\nOK\\n'"

        @Test func wrongThenRight() throws {
            let scene = try Scene("b'D wrong%25\\nOK\\n'", Self.right)
            try scene.test().succeeded()
            let lines = scene.lines()
            #expect(lines.filter { $0 == "GETPIN" }.count == 2 && lines.last == "BYE", "\(lines)")
            #expect(lines.filter { $0 == "SETDESC Passcode of \(scene.vault.path)" }.count == 2, "\(lines)")
            #expect(lines.filter { $0.hasPrefix("SETERROR The passcode is wrong") }.count == 1, "\(lines)")
            #expect(lines.contains("SETPROMPT Passcode:") && lines.contains("SETTITLE Latchkey"), "\(lines)")
            // With this option it would remember the passcode.
            #expect(!lines.contains { $0.hasPrefix("OPTION") || $0.hasPrefix("SETKEYINFO") }, "\(lines)")
        }

        @Test func withoutADisplayItIsNotAsked() throws {
            let scene = try Scene(Self.right)
            for variables in [["DISPLAY": ""], ["SSH_ASKPASS_REQUIRE": "never"]] {
                #expect(try scene.test(variables).status == 1)
            }
            #expect(scene.lines().isEmpty)
            try scene.test(["DISPLAY": "", "WAYLAND_DISPLAY": "wayland-7"]).succeeded()
            // A percent sign of the path is encoded.
            let folder = try TemporaryFolder()
            let vault = try Vault(in: folder, at: folder.path("100%0A"))
            _ = try vault.latchkey(["slot", "test", vault.path], askingBy: scene.variables)
            #expect(scene.lines().contains { $0.hasSuffix("/100%250A") }, "\(scene.lines())")
        }

        @Test(arguments: [
            ("b'ERR 83886179 Operation cancelled <Pinentry>\\n'", "you cancelled pinentry"),
            ("b'ERR 83886142 Timeout <Pinentry>\\n'", "has given no answer in time"),
            ("b'ERR 83918950 Inappropriate ioctl <Pinentry>\\n'", "pinentry cannot ask: Inappropriate ioctl"),
            ("b'ERR x\\n'", "it does not speak Assuan"), ("b'ERR\\n'", "it does not speak Assuan"),
            ("b'ERR 99999999999999999999 x\\n'", "it does not speak Assuan"), ("b'hello\\n'", "does not speak Assuan"),
            ("b'INQUIRE QUALITY x\\n'", "it does not speak Assuan"), ("b'\\n'", "it has ended"),
            ("b'D ' + b'x' * 2**20", "longer than Assuan allows"), ("b'x' * 2**20", "longer than Assuan allows"),
            ("b'S x\\n' * 2**18", "it says too much"), ("b'D x\\n' * 2**18", "its answer has no end"),
            ("b'D ' + b'x' * 900 + b'\\nD ' + b'x' * 900 + b'\\nOK\\n'", "longer than 1024 bytes"),
            ("b'OK\\n'", "no passcode in the answer of pinentry"), ("b'D \\nOK\\n'", "no passcode in the answer of"),
            ("b'D a%00b\\nOK\\n'", "has a NUL byte"), ("b'D a%0ab\\nOK\\n'", "has a second line"),
            ("os.kill(os.getpid(), 9)", "it has ended"), ("b'D %F\\nD'", "it has ended"),
        ])
        func whatIsNotTried(answer: String, words: String) throws {
            // What ends in the middle of a line ends there.
            let scene = try Scene(answer.hasSuffix("D'") ? "(say(\(answer)), os._exit(0))" : answer)
            let outcome = try scene.test()
            #expect([1, 2].contains(outcome.status) && outcome.errors.contains(words), "\(outcome)")
            #expect(outcome.errors.count < 1000, "\(outcome)")
        }

        @Test func anotherGreeting() throws {
            let outcome = try Scene(Self.right, greeting: "ERR 1 no \\x1b[2J display").test()
            #expect(outcome.status == 1 && outcome.errors.contains("pinentry cannot ask: no "), "\(outcome)")
            #expect(!outcome.errors.contains("\u{1b}"), "\(outcome)")
        }

        /// The real one, in a window of a real X server, with real keys.
        @Test(
            .enabled(
                if: ["/usr/bin/pinentry-gtk-2", "/usr/bin/Xvfb", "/usr/bin/xdotool"].allSatisfy(Disk.exists),
                "needs pinentry-gtk2, xvfb and xdotool"))
        func theRealOne() throws {
            let vault = try Vault()
            let tools = try vault.bareTools()
            try shell("ln -s /usr/bin/pinentry-gtk-2 '\(tools)/pinentry'")
            try attempt(
                "python3",
                [
                    "-c", windows, Built.latchkey, vault.path, Vault.passcode, tools,
                ], environment: vault.environment, within: 120
            ).succeeded()
        }
    }
}

private let windows = """
    import os, subprocess, sys, time
    latchkey, vault, passcode, tools = sys.argv[1:]
    reader, writer = os.pipe()
    # Without this option it begins anew when its last client goes, and refuses the next one meanwhile.
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writer), "-screen", "0", "800x600x24", "-nolisten", "tcp", "-noreset"],
        pass_fds=[writer], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(writer)
    try:
        display = ":" + os.read(reader, 16).decode().strip()
        screen = dict(os.environ, DISPLAY=display)
        def xdotool(*words):
            return subprocess.run(["xdotool", *words], env=screen, capture_output=True, text=True, timeout=30)
        seen = set()
        def window():
            # Another process may have a window of the same number.
            end = time.monotonic() + 30
            while time.monotonic() < end:
                for found in xdotool("search", "--onlyvisible", "--class", "pinentry").stdout.split():
                    process = xdotool("getwindowpid", found).stdout.strip()
                    if process and process not in seen:
                        seen.add(process)
                        return found
                time.sleep(0.05)
            asking.kill()
            raise SystemExit(f"no window came: {len(seen)} before; {asking.communicate()}")
        def answer(*keys):
            xdotool("windowfocus", "--sync", window())
            for key in keys: xdotool(*key)
        def ask():
            return subprocess.Popen(
                [latchkey, "slot", "test", vault], env=dict(screen, PATH=tools), stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        asking = ask()
        answer(["type", "--delay", "5", "wrong"], ["key", "Return"])
        answer(["type", "--delay", "5", passcode], ["key", "Return"])
        said = asking.communicate(timeout=60)[0].decode()
        assert asking.returncode == 0 and said.count("the passcode is wrong") == 1, (asking.returncode, said)
        asking = ask()
        answer(["key", "Escape"])
        said = asking.communicate(timeout=60)[0].decode()
        assert asking.returncode == 1 and "you cancelled pinentry" in said, (asking.returncode, said)
    finally:
        server.terminate()
        server.wait()
    """
