import Testing

@testable import Format

@Suite struct AttributeNameTests {
    private struct Attributes: Decodable {
        struct Stored: Decodable {
            let storedName: String
            let storedValue: String
        }
        struct Large: Decodable {
            let size: Int
            let nonce: String
            let storedName: String
            let restName: String?
        }
        let cases: [Stored]
        let nodes: [Stored]
        let large: [Large]
    }

    /// A name is stored as its hash from the first byte on that does not fit, also where the prefix is longer.
    @Test func areStoredAsInTheVectors() throws {
        let given: Attributes = try vectors("xattrs")
        for (prefix, stored) in [(AttributeName.Prefix.user, given.cases), (.trusted, given.nodes)] {
            for item in stored {
                let name = try #require(AttributeName(backing: item.storedName, prefix))
                #expect(name.backing(prefix) == item.storedName)
                switch name {
                case .short(let ciphertext):
                    #expect(!AttributeName.isLong(ciphertextCount: ciphertext.count, prefix))
                    #expect(item.storedName.utf8.count <= 255)
                case .long:
                    let value = bytes(item.storedValue)
                    #expect(AttributeName.isLong(ciphertextCount: Int(value[0]) + Int(value[1]) << 8, prefix))
                case .continuation: Issue.record("a continuation: \(item.storedName)")
                }
                #expect(AttributeName(backing: item.storedName, prefix == .user ? .trusted : .user) == nil)
            }
        }
        for item in given.large {
            #expect((item.restName != nil) == (item.size > 65_503))
            guard let continuation = item.restName else { continue }
            #expect(AttributeName(backing: continuation) == .continuation(nonce: bytes(item.nonce)))
            #expect(AttributeName.continuation(nonce: bytes(item.nonce)).backing() == continuation)
        }
    }

    @Test(arguments: [
        "user.lk.rest.", "user.lk.rest.AAAA", "user.lk.rest.AAAAAAAAAAAAAAAAAAAAAA=", "user.lk.long.AAAA",
    ])
    func areForeignWhereTheyAreNoNames(name: String) {
        #expect(AttributeName(backing: name) == nil)
    }
}
