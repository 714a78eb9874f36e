import Foundation

/// The programs that were built with these tests, beside them.
enum Built {
    static let folder: String = {
        let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let beside = URL(fileURLWithPath: link ?? CommandLine.arguments[0]).deletingLastPathComponent().path
        guard !FileManager.default.fileExists(atPath: beside + "/latchkey") else { return beside }
        // Where the tests are run by another program, their bundle is named by an argument.
        let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? ""
        return URL(fileURLWithPath: bundle).deletingLastPathComponent().path
    }()

    static var latchkey: String { folder + "/latchkey" }
    static var probe: String { folder + "/probe" }
    static var passthrough: String { folder + "/passthrough" }
    static var load: String { folder + "/load" }
    static var scale: String { folder + "/scale" }
    static var letterbox: String { folder + "/letterbox" }
    static var protected: String { folder + "/protected" }
    static var recorder: String { folder + "/recorder" }
    static var stress: String { folder + "/stress" }

    /// The root of the project's sources.
    static let project = URL(fileURLWithPath: #filePath).pathComponents.dropLast(4).joined(separator: "/")
        .replacingOccurrences(of: "//", with: "/")

    /// What this machine lacks for mounting at all; nil where nothing does.
    static let missing: String? = {
        if unsafe access("/dev/fuse", F_OK) != 0 {
            return "/dev/fuse is not there: load the fuse module, or give the container the device"
        }
        if unsafe access("/dev/fuse", R_OK | W_OK) != 0 {
            return "/dev/fuse is not open to this user: chmod 0666 /dev/fuse, or run the tests as root"
        }
        if unsafe access(latchkey, X_OK) != 0 {
            return "\(latchkey) is not built: swift build --build-tests"
        }
        return nil
    }()
}
