import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// Paths are bytes: what is not UTF-8 works in every command, and is shown in a form that a shell takes back.
    @Suite struct ByteNames {
        /// For bash: 0xff, a newline, a quote and a backslash, in the vault's folder and in the mount point.
        private static let vault = #"$'vau\xff\n\'lt\\'"#
        private static let point = #"$'poi\xfe\n"nt\\'"#
        private static let shownVault = #"vau\xff\n'lt\\"#
        private static let shownPoint = #"poi\xfe\n"nt\\"#

        /// A folder with these two, a passcode and a function `latchkey`, for scripts of bash.
        private final class Place {
            let folder: TemporaryFolder
            private let environment: [String: String]

            /// - Parameter makes: whether the vault is made.
            init(makes: Bool = true) throws {
                folder = try TemporaryFolder()
                environment = Environment.plain.merging([
                    "XDG_STATE_HOME": try folder.makeFolder("state", mode: 0o700),
                    "XDG_RUNTIME_DIR": try folder.makeFolder("runtime", mode: 0o700),
                    "HOME": try folder.makeFolder("home", mode: 0o700),
                ]) { $1 }
                _ = try folder.write("correct horse battery staple", to: "passcode", mode: 0o600)
                guard makes else { return }
                try script(
                    """
                    latchkey init --kdf-memory 19 --kdf-passes 2 --passcode-file passcode \
                        --recovery-key-file $'recovery\\xff' $vault
                    mkdir $point
                    """
                ).succeeded()
            }

            deinit {
                _ = try? script("umount -l $point")
            }

            func script(_ text: String) throws -> Outcome {
                try attemptShell(
                    "latchkey() { '\(Built.latchkey)' \"$@\"; }\nvault=$PWD/\(ByteNames.vault) point=$PWD/\(ByteNames.point)\n"
                        + text.replacing("$vault", with: "\"$vault\"").replacing("$point", with: "\"$point\""),
                    in: folder.path, environment: environment)
            }

            /// The fields of a command's JSON: of an object, or of each object of a list.
            func json(_ text: String) throws -> [[String: Any]] {
                let found = try JSONSerialization.jsonObject(with: Data(try script(text).succeeded().output))
                return found as? [[String: Any]] ?? [found as? [String: Any] ?? [:]]
            }

            /// The bytes of a path below this folder.
            func bytes(_ rest: [UInt8]) -> [UInt8] { Array(folder.path.utf8) + [UInt8(ascii: "/")] + rest }
        }

        private static let vaultBytes = Array("vau".utf8) + [0xff] + Array("\n'lt\\".utf8)
        private static let pointBytes = Array("poi".utf8) + [0xfe] + Array("\n\"nt\\".utf8)

        private func bytes(_ value: Any?) -> [UInt8]? {
            (value as? String).flatMap { Data(base64Encoded: $0) }.map { Array($0) }
        }

        @Test func everyCommandTakesAVaultAndAMountPointOfAnyBytes() throws {
            let place = try Place()
            let home = place.folder.path
            try place.script("latchkey mount --passcode-file passcode --unlock $vault $point").succeeded()
            let status = try place.script("latchkey status $vault").succeeded()
            #expect(status.text.hasPrefix("\(home)/\(Self.shownPoint)\n"), "\(status)")
            #expect(status.text.contains(" \(home)/\(Self.shownVault)\n"), "\(status)")
            let facts = try place.json("latchkey status --json $point")
            #expect(facts.first?["mountPoint"] as? String == "\(home)/\(Self.shownPoint)")
            #expect(bytes(facts.first?["mountPointBase64"]) == place.bytes(Self.pointBytes))
            #expect(bytes(facts.first?["vaultBase64"]) == place.bytes(Self.vaultBytes))
            #expect(facts.first?["deviceKeyFileBase64"] == nil)
            let listed = try place.json("latchkey list --json")
            #expect(listed.contains { bytes($0["vaultBase64"]) == place.bytes(Self.vaultBytes) }, "\(listed)")
            let all = try place.script(
                """
                echo kept > $point/file
                latchkey lock --now --wait $vault
                latchkey unlock --passcode-file passcode $vault
                (cd $point; latchkey lock --now --wait; latchkey unlock --passcode-file ../passcode)
                latchkey slot list $point
                latchkey slot add key-file --new-file $'key\\xff' --passcode-file passcode $point
                latchkey lock --now --wait $point
                latchkey unlock --key-file $'key\\xff' $point
                printf 'another horse battery staple' > $'new\\xff'
                chmod 600 $'new\\xff'
                latchkey passwd --passcode-file passcode --new-passcode-file $'new\\xff' $point
                latchkey rotate --yes --passcode-file $'new\\xff' --recovery-key-file $'recovery2\\xff' --wait $point
                latchkey policy check $point
                latchkey device-key show $vault
                latchkey close $point
                latchkey list
                latchkey slot test --passcode-file $'new\\xff' $vault
                latchkey fsck --passcode-file $'new\\xff' $vault
                latchkey device-key export $'device\\xff' $vault
                printf 'five random words stand here' > phrase
                latchkey keybag backup --passcode-file $'new\\xff' --passphrase-file phrase --kdf-memory 19 \
                    --kdf-passes 2 --weak $'backup\\xff' $vault
                latchkey mount --device-key $'device\\xff' --unlock --passcode-file $'new\\xff' $vault $point
                test "$(cat $point/file)" = kept
                latchkey unmount $point
                latchkey erase --yes $vault
                """)
            try all.succeeded()
            #expect(all.text.contains("\(home)/\(Self.shownVault): nothing wrong"), "\(all)")
            #expect(all.text.contains("The keybag of \(home)/\(Self.shownVault) is in backup\\xff."), "\(all)")
            #expect(all.text.contains("\(home)/\(Self.shownVault) is erased"), "\(all)")
        }

        @Test func whatTryLinesSayCanBePasted() throws {
            let place = try Place()
            let outcome = try place.script(
                """
                said=$(latchkey mount $vault $point)
                eval "$(sed -n 's/^  try: \\(latchkey unlock .*\\)/\\1 --passcode-file passcode/p' <<< "$said")"
                latchkey status --json $point | grep '"state" : "unlocked"'
                if said=$(latchkey mount $vault $point 2>&1); then exit 1; fi
                eval "$(sed -n 's/^  try: //p' <<< "$said")"
                latchkey unmount $point
                """)
            try outcome.succeeded()
            #expect(outcome.text.contains("\(place.folder.path)/\(Self.shownPoint)\n"), "\(outcome)")
        }

        /// By mount(8)'s helper; then the daemon, which is found by its arguments, is stopped and killed.
        @Test func theHelperOfMountAndACommandWithoutADaemonTakeTheMountPoint() throws {
            let place = try Place()
            let outcome = try place.script(
                """
                ln -s '\(Built.latchkey)' mount.latchkey
                ./mount.latchkey $vault $point -o "ro,passcode-file=$PWD/passcode"
                latchkey status --json $point | grep '"readOnly" : true'
                { ./mount.latchkey $vault $point -o $'grace=\\xff' 2>&1 || true; } | grep 'value .\\\\xff'
                daemon=$(latchkey status --json $point | sed -n 's/.*"pid" : \\([0-9]*\\).*/\\1/p')
                kill -STOP $daemon
                { latchkey status $point 2>&1 || true; } | grep "its daemon, process $daemon, is stopped"
                kill -KILL $daemon
                latchkey unmount $point
                """)
            try outcome.succeeded()
            #expect(outcome.text.contains("is stopped"), "\(outcome)")
        }

        @Test func filesOfAnyBytesHaveAClassAndAnExplanation() throws {
            let place = try Place()
            try place.script(
                """
                latchkey mount --passcode-file passcode --unlock $vault $point
                echo bytes > $point/$'f\\xff\\n'
                echo scalar > $point/$'f\\U0010fffd'
                echo four > $point/$'f\\xf4\\x8f\\xbf'
                latchkey class set A $point/$'f\\xff\\n'
                latchkey class set D $point/$'f\\U0010fffd'
                """
            ).succeeded()
            let classes = try place.json("latchkey class get --json $point/*")
            #expect(classes.compactMap { $0["class"] as? String }.sorted().first == "complete", "\(classes)")
            for (rest, wanted) in [
                ([0xff, 0x0a], "complete"), ([0xf4, 0x8f, 0xbf, 0xbd], "none"),
                ([0xf4, 0x8f, 0xbf], "complete-until-first-user-authentication"),
            ] as [([UInt8], String)] {
                let name = place.bytes(Self.pointBytes + Array("/f".utf8) + rest)
                let found = classes.first { bytes($0["pathBase64"]) == name }
                #expect(found?["class"] as? String == wanted, "\(rest): \(classes)")
            }
            let text = try place.script("cd $point; latchkey explain $'f\\xff\\n' f$'\\U0010fffd'").succeeded().text
            #expect(text.hasPrefix("f\\xff\\n\n"), "\(text)")
            #expect(text.contains("backing file  \(place.folder.path)/\(Self.shownVault)/"), "\(text)")
            #expect(text.contains("\nf\u{10fffd}\n"), "\(text)")
            let explained = try place.json("cd $point; latchkey explain --json --ciphertext $'f\\xff\\n'")
            #expect(explained.first?["path"] as? String == "f\\xff\\n")
            #expect(bytes(explained.first?["pathBase64"]) == [0x66, 0xff, 0x0a])
            let backing = bytes(explained.first?["backingPathBase64"])
            #expect(backing?.starts(with: place.bytes(Self.vaultBytes)) == true, "\(explained)")
            #expect(explained.first?["ciphertext"] != nil)
            // A file whose name is text has no second key.
            let plain = try place.json("cd $point; latchkey class get --json f$'\\U0010fffd'")
            #expect(plain.first?["path"] as? String == "f\u{10fffd}" && plain.first?["pathBase64"] == nil)
            try place.script("latchkey unmount $point").succeeded()
            let fsck = try place.json("latchkey fsck --json --passcode-file passcode $vault")
            #expect(bytes(fsck.first?["vaultBase64"]) == place.bytes(Self.vaultBytes), "\(fsck)")
            #expect(fsck.first?["clean"] as? Bool == true, "\(fsck)")
        }

        /// What is no path is text, and the message shows the bytes.
        @Test(arguments: [
            (#"latchkey mount --grace $'\xff' a b"#, #"The value '\xff' is invalid for '--grace"#),
            (#"latchkey slot add --name $'a\xff' key-file v"#, #"The value 'a\xff' is invalid for '--name"#),
            (#"latchkey init --name $'\xfe' v"#, #"The value '\xfe' is invalid for '--name"#),
            (#"latchkey class set $'\xff' f"#, #"The value '\xff' is invalid for '<class>'"#),
            (#"latchkey class set $'\U10fffd' f"#, "is invalid for '<class>'"),
            (#"latchkey lock $'--\xff'"#, #"Unknown option '--\xff'"#),
            (#"latchkey $'st\xff'"#, #"unknown command st\xff"#),
            (#"latchkey mount -o $'fsname=\xff' a b"#, #"The value 'fsname=\xff' is invalid for '-o"#),
            (#"latchkey open $'\xff'"#, #"The value '\xff' is invalid for '<name>'"#),
        ])
        func wrongValuesShowTheirBytes(_ command: String, _ message: String) throws {
            let outcome = try Place(makes: false).script(command)
            #expect(outcome.status == 2 && outcome.errors.contains(message), "\(outcome)")
        }

        @Test func aVaultWhoseFolderIsNotTextGetsNoName() throws {
            let outcome = try Place(makes: false).script("latchkey init --name work --passcode-file passcode $vault")
            #expect(outcome.status == 1)
            #expect(
                outcome.errors.contains("\(Self.shownVault) is not UTF-8, and the configuration is text"), "\(outcome)")
        }
    }
}
