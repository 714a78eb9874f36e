import Foundation
import Posix

/// Keeps the first states that violate the promise, in the folder that LATCHKEY_CRASH_KEEP names. A text beside each
/// state says what had happened.
struct Evidence {
    private static let most = 5
    private let folder: String?
    private let name: String
    private var kept: [Violation.Kind: Int] = [:]

    init(_ name: String) {
        folder = ProcessInfo.processInfo.environment["LATCHKEY_CRASH_KEEP"]
        self.name = name.map { $0.isLetter || $0.isNumber ? String($0) : "-" }.joined()
    }

    mutating func keep(_ disk: SimulatedDisk, _ choice: CrashChoice, crash: Int, _ violations: [Violation]) throws {
        try keep(disk.image(of: choice), "crash at record \(crash)", violations) { disk.description(of: choice) }
    }

    mutating func keep(
        _ image: DiskImage, _ moment: String, _ violations: [Violation], details: () -> String = { "" }
    ) throws {
        guard let folder, let kind = violations.first?.kind, kept[kind, default: 0] < Self.most else { return }
        kept[kind, default: 0] += 1
        let path = "\(folder)/\(name)-\(kind.rawValue)-\(kept[kind]!)"
        try? FileManager.default.removeItem(atPath: path)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try image.make(in: try Descriptor.open(path: path, O_RDONLY | O_DIRECTORY))
        let text =
            moment + "\n" + violations.map { "\($0.kind.rawValue): \($0.what)\n" }.joined() + details() + "\n"
        try text.write(toFile: path + ".txt", atomically: true, encoding: .utf8)
    }
}
