import Administration
import Control
import Format
import Keybag
import Testing

@testable import Daemon

/// What a client says that a security key needs.
@Suite struct NewSecurityKeyTests {
    private func key(
        _ credential: String, salt: String = String(repeating: "0f", count: 32), withPIN: Bool = false,
        withTouch: Bool = true
    ) -> NewSecurityKey {
        NewSecurityKey(credential: credential, salt: salt, withPIN: withPIN, withTouch: withTouch)
    }

    @Test func whatItMeans() throws {
        let entry = try #require(SecurityKeyEntry(key("00Ff")))
        #expect(entry.identifier == [0, 255] && entry.salt == [UInt8](repeating: 15, count: 32))
        #expect(entry.demands == .presence)
        #expect(SecurityKeyEntry(key("00", withPIN: true))?.demands == [.verification, .presence])
        #expect(SecurityKeyEntry(key("00", withPIN: true, withTouch: false))?.demands == .verification)
        #expect(SecurityKeyEntry(key(String(repeating: "00", count: 1024))) != nil)
    }

    @Test(arguments: ["", "0", "0g", "+1", String(repeating: "00", count: 1025)]) func noCredential(text: String) {
        #expect(SecurityKeyEntry(key(text)) == nil)
    }

    @Test(arguments: [0, 31, 33]) func noSalt(count: Int) {
        #expect(SecurityKeyEntry(key("00", salt: String(repeating: "0f", count: count))) == nil)
    }
}
