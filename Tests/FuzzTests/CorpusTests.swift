import Foundation
import FuzzTargets
import TestSupport
import Testing

/// Every input that fuzzing has kept, through the same functions. tools/fuzz finds new ones.
@Suite(.timeLimit(.minutes(2))) struct CorpusTests {
    private static let corpus = URL(filePath: Built.project + "/Tests/Fuzz/Corpus")

    @Test(arguments: FuzzTarget.allCases)
    func `what fuzzing has kept is taken or refused as it should be`(_ target: FuzzTarget) throws {
        let parser = try target.makeParser()
        let folder = Self.corpus.appendingPathComponent(target.rawValue)
        let inputs = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        #expect(!inputs.isEmpty)
        for input in inputs {
            let bytes = try Array(Data(contentsOf: input))
            #expect(throws: Never.self, "\(target.rawValue)/\(input.lastPathComponent)") { try parser.run(bytes) }
        }
    }
}
