import Foundation
import TestSupport
import Testing

extension MountTests {
    /// open_by_handle_at(2), with which NFS servers find files again: after the kernel has forgotten them, and in the
    /// next mount.
    @Suite struct FileHandles {
        /// Runs `act` on the tree that a handle of each entry was taken of.
        private struct Scene {
            let vault: Vault
            let state: TemporaryFolder

            func act(_ act: String, on mount: MountedVault) throws {
                let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "handles.py").path
                try run("python3", ["-B", script, mount.path, act, state.path + "/handles", vault.path])
            }
        }

        private func scene(_ protection: ProtectionClass = .none) throws -> Scene {
            Scene(vault: try Vault(["--default-class", protection.rawValue]), state: try TemporaryFolder())
        }

        @Test func whatTheKernelHasForgotten() throws {
            let scene = try scene()
            try withMount(scene.vault) { mount in
                try scene.act("make", on: mount)
                for act in ["check", "forget", "check"] { try scene.act(act, on: mount) }
            }
            // In another mount no node is known.
            try withMount(scene.vault) { mount in
                for act in ["check", "forget", "check", "moves"] { try scene.act(act, on: mount) }
            }
        }

        @Test func whatIsGone() throws {
            let scene = try scene()
            try withMount(scene.vault) { mount in
                try scene.act("make", on: mount)
                try scene.act("gone", on: mount)
            }
            try withMount(scene.vault) { try scene.act("stale", on: $0) }
        }

        @Test func whatIsLocked() throws {
            let scene = try scene(.complete)
            try withMount(scene.vault) { mount in
                try scene.act("make", on: mount)
                try mount.lockNow()
                try scene.act("locked", on: mount)
                try mount.unlock()
                try scene.act("check", on: mount)
            }
        }

        @Test func whatNoNodeHas() throws {
            let scene = try scene()
            try withMount(scene.vault) { mount in
                try scene.act("make", on: mount)
                for act in ["forged", "forget", "forged", "check"] { try scene.act(act, on: mount) }
            }
        }
    }
}
