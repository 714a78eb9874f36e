// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
]

/// A module of this project: strict Swift, sources in Sources/NAME.
func module(_ name: String, _ dependencies: [Target.Dependency] = [], resources: [Resource]? = nil) -> Target {
    .target(name: name, dependencies: dependencies, resources: resources, swiftSettings: strict)
}

func tests(
    _ name: String, _ dependencies: [Target.Dependency], exclude: [String] = [], resources: [Resource] = []
) -> Target {
    .testTarget(
        name: name, dependencies: dependencies, exclude: exclude, resources: resources,
        // The tested modules are optimized in a release build; optimizing the tests would only lengthen the build.
        swiftSettings: strict + [.unsafeFlags(["-Onone"], .when(configuration: .release))])
}

/// Binds calls into shared libraries at start. With lazy binding, the first call of a function saves the vector
/// registers on the stack, and they may contain half of a key.
let boundAtOnce: [LinkerSetting] = [.unsafeFlags(["-Xlinker", "-z", "-Xlinker", "now"])]

let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let arguments: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let subprocess: Target.Dependency = .product(name: "Subprocess", package: "swift-subprocess")

/// What `latchkey --version` calls the commit; tools/install and tools/package set it. Only CBuild depends on it.
let commit: [CSetting] = Context.environment["LATCHKEY_COMMIT"].map { [.define("LATCHKEY_COMMIT", to: $0)] } ?? []

// libFuzzer has its own main function; only tools/fuzz needs it.
let fuzzing: [Target] =
    Context.environment["LATCHKEY_FUZZ"] == nil
    ? []
    : [
        .executableTarget(
            name: "fuzz", dependencies: ["FuzzTargets"], path: "Tests/Fuzz/Driver",
            swiftSettings: strict + [.unsafeFlags(["-parse-as-library"])])
    ]

let package = Package(
    name: "latchkey",
    products: [
        .executable(name: "latchkey", targets: ["latchkey"]),
        .library(name: "DataProtection", targets: ["DataProtection"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", exact: "1.0.2"),
    ],
    targets: [
        .target(name: "CBuild", cSettings: commit),
        .target(name: "CLinux"),
        .target(name: "CCrypto", linkerSettings: [.linkedLibrary("crypto"), .linkedLibrary("argon2")]),
        .target(name: "CTPM", dependencies: ["CCrypto"]),
        .target(name: "CFIDO2", dependencies: ["CCrypto"]),
        .target(name: "CBus"),
        .target(name: "CFuse", linkerSettings: [.linkedLibrary("fuse3")]),
        module("Posix", ["CLinux"]),
        module("Crypto", ["CCrypto"]),
        module("TPM", ["CTPM", "Crypto"]),
        module("FIDO2", ["CFIDO2", "Crypto"]),
        module("Format"),
        // Why an operation failed, from the keybag to the command line.
        module("Failure", ["Posix"]),
        module("Keybag", ["Crypto", "Failure", "Format", "Posix", "Store", "Strength"]),
        module("DeviceKeys", ["Crypto", "Failure", "Format", "Keybag", "Posix", "TPM"]),
        module("Strength", ["CCrypto", "Crypto"]),
        // Files of configuration: the part of TOML that they use, and which of them can be trusted.
        module("TOML", ["Posix"]),
        module("Policy", ["Format", "LockSources", "TOML"]),
        // Several machines in one vault: who may use what.
        module("Sharing", ["Posix"]),
        module("Bus", ["CBus", "Posix"]),
        // What makes the agent lock vaults, by name.
        module("LockSources"),
        // The vaults that a user has named: ~/.config/latchkey/config.toml.
        module("VaultNames", ["Format", "LockSources", "Posix", "TOML"]),
        module("Store", ["Posix"]),
        module("Claims", ["Crypto", "Format", "Posix", "Store"]),
        // What this machine remembers of how new the files of a vault were.
        module("Freshness", ["Crypto", "Format", "Posix"]),
        // What the write path knows of a file and what it does next, without doing it.
        module("Writeback", ["Format", "Posix"]),
        module("Vault", ["Crypto", "Format", "Freshness", "Keybag", "Posix", "Sharing", "Store", "Writeback"]),
        module("VaultCheck", ["Crypto", "Format", "Freshness", "Keybag", "Posix", "Store", "Vault", "Writeback"]),
        // Moves a folder of plain files into a vault and back, in place, so that an interruption loses nothing.
        module("Migration", ["Crypto", "Format", "Posix", "Store", "Vault"]),
        module("Fuse", ["CFuse", "Posix"]),
        module(
            "Mount",
            ["CLinux", "Failure", "Format", "Freshness", "Fuse", "Keybag", "Posix", "Sharing", "Store", "Vault"]),
        module(
            "Control", ["CLinux", "Failure", "Posix"],
            resources: [.embedInCode("io.latchkey.varlink"), .embedInCode("org.varlink.service.varlink")]),
        // What is done to a vault besides serving it: making and recovering it, its slots, keys and classes.
        module(
            "Administration",
            [
                "Claims", "Control", "Crypto", "DeviceKeys", "Failure", "Format", "Freshness", "Keybag", "Posix",
                "Store",
                "Vault",
            ]),
        module(
            "Daemon",
            [
                "Administration", "Mount", "Control", "Crypto", "DeviceKeys", "Failure", "Format", "Freshness",
                "Keybag",
                "Policy",
                "Strength",
                "Posix",
                "Store", "Vault", logging,
            ]),
        // Locks mounts when the session, the screen or the machine says so: over the control sockets, as any client.
        module("Agent", ["Bus", "CLinux", "Control", "Failure", "LockSources", "Posix"]),
        module("DataProtection", ["Control", "Failure", "Format", "Posix"]),
        .executableTarget(
            name: "latchkey",
            dependencies: [
                "Administration", "Agent", "Bus", "Daemon", "Control", "DeviceKeys", "LockSources", "Failure", "FIDO2",
                "TPM", "Vault", "VaultCheck",
                "Freshness", "Keybag", "Store", "Crypto", "Format", "Migration", "Policy", "Posix", "Strength",
                "CBuild",
                "CLinux", "Fuse",
                "VaultNames",
                arguments,
            ],
            resources: ["bash", "zsh", "fish"].map { .embedInCode("Completion/Shells/latchkey.\($0)") },
            swiftSettings: strict, linkerSettings: boundAtOnce),

        // A program that keeps files open, maps and touches them while the tests lock and unlock.
        .executableTarget(name: "probe", path: "Tests/Probe"),
        // A program that keeps writing while its files are locked and unlocked, and knows what they must contain.
        .executableTarget(name: "writer", path: "Tests/Writer"),
        // Calls the DataProtection library as the tests tell it, line by line.
        .executableTarget(
            name: "protected", dependencies: ["DataProtection", "Format", "Posix"], path: "Tests/Protected",
            swiftSettings: strict),
        // The example program of docs/DATAPROTECTION.md.
        .executableTarget(
            name: "letterbox", dependencies: ["DataProtection"], path: "docs/letterbox", swiftSettings: strict),
        // A plain directory as a FUSE file system: the control for tests through a mount.
        .executableTarget(
            name: "passthrough", dependencies: ["Fuse", "Posix", "CLinux"], path: "Tests/Passthrough",
            swiftSettings: strict),
        // Shared support for tests: temporary folders, built programs, processes, mounts, numbers that look random.
        .target(
            name: "TestSupport", dependencies: ["Posix"], path: "Tests/Support",
            exclude: ["Secrets", "Stores", "Vaults"],
            swiftSettings: strict),
        // Stores around a vault's folder that fail calls, record and replay changes, or observe.
        .target(
            name: "TestStores", dependencies: ["Posix", "Store"], path: "Tests/Support/Stores", swiftSettings: strict),
        // Secrets of known bytes.
        .target(
            name: "TestSecrets", dependencies: ["Crypto"], path: "Tests/Support/Secrets", swiftSettings: strict),
        // Vaults and their files, made as the program makes them or forged.
        .target(
            name: "TestVaults", dependencies: ["Crypto", "Format", "Keybag", "Posix", "Store", "Vault"],
            path: "Tests/Support/Vaults", swiftSettings: strict),
        // A model of the write path and its disk, which tries the planner in all states. Optimized in each build.
        .target(
            name: "WritebackModel", dependencies: ["Format", "Posix", "Writeback"], path: "Tests/WritebackModel",
            swiftSettings: strict + [.unsafeFlags(["-O"])]),
        // The states of a disk after a power loss, and whether they keep the promises.
        .target(
            name: "CrashSimulator",
            dependencies: [
                "Crypto", "Format", "Freshness", "Keybag", "Posix", "Store", "TestSecrets", "TestStores", "TestSupport",
                "TestVaults", "Vault",
            ],
            path: "Tests/CrashSimulator", swiftSettings: strict),
        // Every parser with the invariants that hold for any input, for libFuzzer and for FuzzTests.
        .target(
            name: "FuzzTargets",
            dependencies: [
                "Control", "Crypto", "DeviceKeys", "Failure", "Format", "Freshness", "Keybag", "Policy", "Posix",
                "Store", "TestSecrets", "TestStores", "TestSupport", "TestVaults", "Vault", "VaultNames",
            ],
            path: "Tests/Fuzz/Targets", swiftSettings: strict),
        tests("FuzzTests", ["FuzzTargets", "TestSupport"]),
        // Several machines with one vault, on a store whose calls, failures and time a seed decides.
        .target(
            name: "LeaseSimulation", dependencies: ["Posix", "Sharing", "TestSupport"], path: "Tests/LeaseSimulation",
            exclude: ["Driver"], swiftSettings: strict),
        .executableTarget(
            name: "lease-simulation", dependencies: ["LeaseSimulation"], path: "Tests/LeaseSimulation/Driver",
            swiftSettings: strict),
        tests("SharingTests", ["LeaseSimulation"]),
        // Every modification that an attacker can make to a vault's folder, and how a reader must respond.
        .target(
            name: "Tampering",
            dependencies: [
                "Crypto", "Failure", "Format", "Keybag", "Posix", "Store", "TestSecrets", "TestStores", "TestSupport",
                "TestVaults", "Vault",
            ],
            path: "Tests/Tamper", exclude: ["Driver"], swiftSettings: strict),
        .executableTarget(
            name: "tamper", dependencies: ["Tampering"], path: "Tests/Tamper/Driver", swiftSettings: strict),
        // Serves a mount, and records all changes to the backing folder.
        .executableTarget(
            name: "recorder",
            dependencies: ["CrashSimulator", "Crypto", "Mount", "Posix", "Store", "TestStores", "Vault"],
            path: "Tests/Recorder", swiftSettings: strict),
        // Changes files as long as it can, and reports what it did.
        .executableTarget(
            name: "load", dependencies: ["CLinux", "Format", "TestSupport"], path: "Tests/Load",
            swiftSettings: strict),
        // One of several processes that change one tree at random.
        .executableTarget(
            name: "stress", dependencies: ["CLinux", "Format", "Posix", "TestSupport"], path: "Tests/Stress",
            swiftSettings: strict),
        // Many files, large files and many open files, with contents that are checked.
        .executableTarget(
            name: "scale", dependencies: ["Posix", "TestSupport"], path: "Tests/Scale", swiftSettings: strict),
        // Counts the calls of malloc(3), of Swift's runtime and for locks in reads and writes.
        .target(name: "Counter", path: "Tests/Counting/Counter"),
        .executableTarget(
            name: "counting",
            dependencies: ["Counter", "CrashSimulator", "Format", "Keybag", "Posix", "Store", "Vault"],
            path: "Tests/Counting/Driver", swiftSettings: strict),
        // A software TPM, each with its own state.
        .target(
            name: "SoftTPM", dependencies: ["Posix", "TestSupport"], path: "Tests/SoftTPM", swiftSettings: strict),
        // A software security key, at the other end of a Unix socket.
        .target(
            name: "SoftKey", dependencies: ["Posix", "TestSupport"], path: "Tests/SoftKey",
            exclude: ["authenticator.py"],
            swiftSettings: strict),
        // Seals and unseals, then searches its memory and the traffic with the TPM for copies of the secrets.
        .executableTarget(
            name: "sealing", dependencies: ["CTPM", "CCrypto"], path: "Tests/Sealing", linkerSettings: boundAtOnce),
        tests("PosixTests", ["Posix", "TestSupport", "probe"]),
        tests("CryptoTests", ["Crypto", "Format", "TestSecrets"]),
        tests("TPMTests", ["TPM", "Crypto", "SoftTPM", "TestSecrets", "TestSupport", "probe", "sealing"]),
        tests("FIDO2Tests", ["CFIDO2", "FIDO2", "Crypto", "SoftKey", "TestSecrets", "probe"]),
        tests("FormatTests", ["Format", "TestSupport"]),
        tests(
            "KeybagTests",
            [
                "Crypto", "Failure", "Format", "Keybag", "Posix", "Store", "TestSecrets", "TestStores", "TestSupport",
            ]),
        tests(
            "DeviceKeysTests",
            [
                "Crypto", "DeviceKeys", "Failure", "Format", "Keybag", "Posix", "SoftTPM", "TPM", "TestSecrets",
                "TestSupport",
            ]),
        tests("FreshnessTests", ["Freshness", "Crypto", "Format", "Posix", "TestSupport"]),
        tests("StrengthTests", ["Strength", "Crypto", "TestSecrets"]),
        tests("TOMLTests", ["TOML"]),
        tests("PolicyTests", ["Policy", "Format", "TestSupport"]),
        tests("AgentTests", ["Agent", "Bus", "Control", "LockSources", "Posix", "TestSupport"]),
        tests("VaultNamesTests", ["VaultNames", "Format", "TestSupport"]),
        tests("ClaimsTests", ["Claims", "Crypto", "Format", "Posix", "Store", "TestStores", "TestSupport"]),
        tests("StoreTests", ["Posix", "Store", "TestStores", "TestSupport"]),
        tests(
            "VaultTests",
            [
                "Crypto", "Format", "Freshness", "Keybag", "Posix", "Sharing", "Store", "TestStores", "TestSupport",
                "TestVaults", "Vault", "VaultCheck", "Writeback", "probe",
            ]),
        tests(
            "MigrationTests",
            [
                "CrashSimulator", "Crypto", "Format", "Keybag", "Migration", "Posix", "Store", "TestStores",
                "TestSupport", "Vault",
            ]),
        tests("WritebackTests", ["WritebackModel"]),
        tests("TamperTests", ["Tampering", "TestSupport"]),
        tests(
            "CrashTests",
            [
                "CrashSimulator", "Crypto", "Format", "Keybag", "Posix", "Store", "TestSecrets", "TestStores",
                "TestSupport",
                "Vault",
            ]),
        tests("CountingTests", ["TestSupport", "counting", "probe"]),
        tests("FuseTests", ["Fuse", "Posix", "TestSupport", "passthrough", "probe"]),
        tests(
            "AdministrationTests",
            [
                "Administration", "Control", "Crypto", "Failure", "Keybag", "Posix", "Store", "TestStores",
                "TestSupport",
            ]),
        tests("ControlTests", ["Control", "Failure", "Posix", "TestSupport", "probe"]),
        tests(
            "DaemonTests",
            [
                "Administration", "Daemon", "Control", "Crypto", "Failure", "Format", "Fuse", "Keybag", "Mount",
                "Posix", "Sharing", "TestSupport", logging,
            ]),
        tests(
            "LatchkeyTests",
            [
                "Administration", "Control", "Crypto", "DeviceKeys", "Failure", "Format", "Policy", "Posix", "Strength",
                "TestSupport", "VaultNames", "latchkey", arguments,
            ],
            exclude: ["Help"]),
        tests(
            "MountTests",
            [
                "CrashSimulator", "Format", "Posix", "SoftKey", "SoftTPM", "Tampering", "TestStores", "TestSupport",
                subprocess, "latchkey", "letterbox", "load", "passthrough", "probe", "protected", "recorder", "scale",
                "stress", "writer",
            ],
            exclude: [
                "Acts", "Completion/drive.py", "Fsck/Golden", "Hostile/use.py", "Machines/scenes.py",
                "OrdinaryUse/handles.py", "System/nfs.sh",
            ]),
    ] + fuzzing
)
