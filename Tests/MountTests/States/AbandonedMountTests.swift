import TestSupport
import Testing

extension MountTests {
    /// A command that has ended, by Ctrl-C or a kill, leaves no mount behind: its daemon may just derive a key then.
    @Suite struct AbandonedMounts {
        @Test(arguments: ["KILL", "INT", "TERM"]) func nothingIsMounted(_ signal: String) throws {
            let folder = try TemporaryFolder()
            let environment = Environment.plain.merging(["XDG_STATE_HOME": folder.path("state")]) { $1 }
            try shell(
                """
                mkdir point
                printf 'correct horse battery' > passcode
                '\(Built.latchkey)' init --kdf-memory 256 --kdf-passes 8 --passcode-file passcode \\
                    --recovery-key-file recovery vault > /dev/null
                chmod 600 passcode
                # The shell ignores SIGINT in what it starts in the background.
                env --default-signal=INT '\(Built.latchkey)' mount --unlock --passcode-file passcode vault point &
                command=$!
                until daemon=$(pgrep -P $command); do kill -0 $command; done
                kill -\(signal) $command
                timeout 60 tail --pid=$daemon -f /dev/null
                ! mountpoint -q point
                '\(Built.latchkey)' mount --unlock --passcode-file passcode vault point
                '\(Built.latchkey)' unmount point
                """, in: folder.path, environment: environment)
        }
    }
}
