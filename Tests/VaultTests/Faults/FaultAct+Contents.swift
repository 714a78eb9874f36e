import Format
import Glibc
import Posix
import Store

@testable import Vault

extension FaultAct {
    private static let new = FaultScene.bytes(14_000, 100)

    /// write(2), truncate(2), fallocate(2), fsync(2), close(2), and the writeback behind them.
    static let contents: [FaultAct] = [
        FaultAct("writes a new file", mixing: "/made/") { scene in
            let file = try scene.test.create("made")
            return { try scene.using(file) { try $0.write(new, at: 0) } }
        },
        FaultAct("writes a new file whose close is not reported", mixing: "/made/") { scene in
            let file = try scene.test.create("made")
            file.keepLengths()
            return {
                try scene.using(file) {
                    try $0.write(new, at: 0)
                    try $0.write(new, at: 14_000)
                }
            }
        },
        .act("overwrites what is durable", mixing: "/file/") { scene in
            try scene.using("file") { try $0.write(new, at: 100) }
        },
        .act("overwrites what the journal has", mixing: "/busy/") { scene in
            try scene.using("busy") { try $0.write(new, at: 50) }
        },
        .act("overwrites what is not durable", mixing: "/fresh/") { scene in
            try scene.using("fresh") { try $0.write(FaultScene.bytes(4000, 101), at: 1000) }
        },
        .act("appends", mixing: "/file/") { scene in try scene.using("file") { try $0.write(new, at: 20_000) } },
        .act("writes behind the end", mixing: "/young/") { scene in
            try scene.using("young") { try $0.write(new, at: 50_000) }
        },
        .act("overwrites, and syncs the data", mixing: "/file/") { scene in
            try scene.using("file") {
                try $0.write(new, at: 12_000)
                try $0.synchronize(dataOnly: true)
            }
        },
        .act("overwrites, and syncs all", mixing: "/busy/") { scene in
            try scene.using("busy") {
                try $0.write(new, at: 4000)
                try $0.synchronize(dataOnly: false)
            }
        },
        .act("syncs a file that was never synced") { scene in
            try scene.using("fresh") { try $0.synchronize(dataOnly: false) }
        },
        .act("syncs a folder") { scene in try scene.vault.synchronize(scene.root) },
        .act("checkpoints all") { scene in try scene.vault.checkpoint() },
        .act("syncs all") { scene in try scene.vault.synchronize() },
        .act("truncates to nothing") { scene in try scene.using("file") { try $0.truncate(to: 0) } },
        .act("truncates within a block") { scene in try scene.using("file") { try $0.truncate(to: 5001) } },
        .act("truncates what the journal has") { scene in try scene.using("busy") { try $0.truncate(to: 4500) } },
        .act("truncates to more") { scene in try scene.using("file") { try $0.truncate(to: 40_001) } },
        // A kill before the close may come between the write of the last block and the hole.
        .act("truncates to much more", mixing: "/young/") { scene in
            try scene.using("young") { try $0.truncate(to: 1_300_000) }
        },
        .act("punches a hole", mixing: "/file/") { scene in try scene.using("file") { try $0.punch(3000..<17_000) } },
        .act("punches a hole in the journal", mixing: "/busy/") { scene in
            try scene.using("busy") { try $0.punch(0..<12_000) }
        },
        .act("writes into a hole", mixing: "/sparse/") { scene in
            try scene.using("sparse") { try $0.write(new, at: 50_000) }
        },
        .act("allocates", mixing: "/file/") { scene in
            try scene.using("file") { try $0.allocate(10_000..<60_000, keepingLength: false) }
        },
    ]

    /// Creations by open(2) and mknod(2).
    static let files: [FaultAct] = [
        .act("creates") { scene in try scene.using(try scene.test.create("made")) { _ in } },
        .act("creates under a long name") { scene in
            try scene.using(try scene.test.create(FaultScene.longFree, in: scene.folder)) { _ in }
        },
        .act("creates where a list is inherited") { scene in
            try scene.using(try scene.test.create("made", in: scene.other)) { _ in }
        },
        .act("makes a database's journal") { scene in try scene.using(try scene.test.create("strict-wal")) { _ in } },
        .act("makes a file without a name") { scene in
            let file = try scene.vault.createNamelessFile(in: scene.root, scene.test.me, .complete)
            try file.write(new, at: 0)
            try scene.vault.removeNameless(file)
            file.close()
        },
        FaultAct("names a file without one") { scene in
            let file = try scene.vault.createNamelessFile(in: scene.root, scene.test.me, .complete)
            try file.write(new, at: 0)
            return { try scene.using(file) { try scene.vault.giveName("made", in: scene.folder, to: $0) } }
        },
        FaultAct("gives a long name to a file without one") { scene in
            let file = try scene.vault.createNamelessFile(in: scene.root, scene.test.me, .complete)
            try file.write(new, at: 0)
            try file.synchronize(dataOnly: false)
            return { try scene.using(file) { try scene.vault.giveName(FaultScene.longFree, in: scene.root, to: $0) } }
        },
        .act("makes a node") { scene in
            try scene.vault.makeNode("made", in: scene.root, mode: S_IFIFO | 0o640, device: 0, scene.test.me)
        },
        .act("makes a node under a long name") { scene in
            try scene.vault.makeNode(
                FaultScene.longFree, in: scene.other, mode: S_IFSOCK | 0o640, device: 0, scene.test.me)
        },
        .act("makes a symbolic link") { scene in
            try scene.vault.makeSymbolicLink(
                to: Array("there".utf8), "made", in: scene.root, user: getuid(), group: getgid())
        },
        .act("makes a long symbolic link under a long name") { scene in
            try scene.vault.makeSymbolicLink(
                to: FaultScene.longTarget, FaultScene.longFree, in: scene.root, user: getuid(), group: getgid())
        },
    ]
}
