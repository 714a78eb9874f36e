import Foundation
import Glibc

/// The programs that were built with these tests, beside them.
public enum Built {
    public static let latchkey = path(of: "latchkey")
    public static let probe = path(of: "probe")
    public static let passthrough = path(of: "passthrough")
    public static let load = path(of: "load")
    public static let scale = path(of: "scale")
    public static let letterbox = path(of: "letterbox")
    public static let protected = path(of: "protected")
    public static let recorder = path(of: "recorder")
    public static let stress = path(of: "stress")
    public static let counting = path(of: "counting")
    public static let sealing = path(of: "sealing")

    /// The folder that they are in.
    public static let folder = URL(fileURLWithPath: probe).deletingLastPathComponent().path

    /// What this machine lacks for tests of a mount; nil if nothing.
    public static var missing: String? {
        if let missing = FuseDevice.missing { return missing }
        return unsafe access(latchkey, X_OK) == 0 ? nil : "\(latchkey) is not built: swift build --build-tests"
    }

    /// The root of the project's sources.
    public static let project = URL(fileURLWithPath: #filePath).pathComponents.dropLast(4).joined(separator: "/")
        .replacingOccurrences(of: "//", with: "/")

    private static func path(of program: String) -> String {
        let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let beside = URL(fileURLWithPath: link ?? CommandLine.arguments[0]).deletingLastPathComponent().path
        guard unsafe access(beside + "/" + program, X_OK) != 0 else { return beside + "/" + program }
        // If another program runs the tests, an argument names their bundle.
        let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? ""
        return URL(fileURLWithPath: bundle).deletingLastPathComponent().path + "/" + program
    }
}
