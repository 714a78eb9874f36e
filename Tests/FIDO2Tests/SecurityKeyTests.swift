import CFIDO2
import Crypto
import FIDO2
import SoftKey
import TestSecrets
import Testing

@Suite(.timeLimit(.minutes(2))) struct SecurityKeyTests {
    private func pin(_ text: String?) throws -> SecurityKeyPIN {
        guard let text else { return try SecurityKeyPIN() }
        return try SecurityKeyPIN(secret(text))
    }

    /// What a call throws.
    private func failure(_ body: () throws -> Void) -> FIDO2Error? {
        do { try body() } catch { return error as? FIDO2Error }
        return nil
    }

    /// The secret is the same each time, also after the key is unplugged and plugged in; it differs by salt and by key.
    @Test(arguments: [nil, "1234"]) func theSameSecretEachTime(typed: String?) throws {
        let soft = try SoftKey(pin: typed)
        let made = try SecurityKey(path: soft.device).makeCredential(pin: pin(typed))
        #expect(made.withPIN == (typed != nil) && made.withTouch && made.salt.count == 32)
        let first = try SecurityKey(path: soft.device).secret(of: made, pin: pin(typed))
        soft.unplug()
        #expect(failure { _ = try SecurityKey(path: soft.device) } == .noDevice)
        try soft.plugIn()
        let key = try SecurityKey(path: soft.device)
        #expect(key.hasPIN == (typed != nil))
        let again = try key.secret(of: made, pin: pin(typed))
        let isSame = first.count == 32 && first.equals(again)
        #expect(isSame)
        #expect(soft.touches == 3)
        let salted = SecurityKeyCredential(
            identifier: made.identifier, salt: [UInt8](repeating: 1, count: 32), withPIN: made.withPIN)
        let other = try key.secret(of: salted, pin: pin(typed))
        let isOther = !first.equals(other)
        #expect(isOther)
        let another = try key.makeCredential(pin: pin(typed))
        #expect(another.identifier != made.identifier && another.salt != made.salt)
    }

    /// The key that knows a credential is found without a touch.
    @Test func knowing() throws {
        let (soft, other) = (try SoftKey(), try SoftKey())
        let made = try SecurityKey(path: soft.device).makeCredential(pin: pin(nil))
        let touches = soft.touches
        #expect(try SecurityKey(path: soft.device).knows(made) == true)
        #expect(try SecurityKey(path: other.device).knows(made) == false)
        #expect(soft.touches == touches && other.touches == 0)
        let refused = failure { _ = try SecurityKey(path: other.device).secret(of: made, pin: pin(nil)) }
        #expect(refused == .unknownCredential)
        #expect(other.touches == 0)
    }

    /// With its PIN a key derives another secret than without it: the key alone, without the PIN, gives a thief
    /// nothing.
    @Test func thePINCounts() throws {
        let soft = try SoftKey(pin: "1234")
        let key = try SecurityKey(path: soft.device)
        #expect(failure { _ = try key.makeCredential(pin: pin(nil)) } == .pinRequired)
        let made = try key.makeCredential(pin: pin("1234"))
        let right = try key.secret(of: made, pin: pin("1234"))
        #expect(failure { _ = try key.secret(of: made, pin: pin(nil)) } == .pinRequired)
        let without = SecurityKeyCredential(identifier: made.identifier, salt: made.salt, withPIN: false)
        let other = try key.secret(of: without, pin: pin(nil))
        let isOther = !right.equals(other)
        #expect(isOther)
        #expect(key.keepsPINApart == true)
        try soft.behave(.old)
        let old = try SecurityKey(path: soft.device)
        #expect(old.keepsPINApart == false)
        let same = try old.secret(of: made, pin: pin("1234")).equals(other)
        #expect(same)
        try soft.behave(.alwaysPIN)
        #expect(try key.knows(made) == nil)
        #expect(try key.knows(made, pin: pin("1234")) == true)
        let foreign = SecurityKeyCredential(identifier: [1, 2, 3], salt: made.salt, withPIN: true)
        #expect(try key.knows(foreign, pin: pin("1234")) == false)
        #expect(failure { _ = try key.knows(made, pin: pin("4321")) } == .wrongPIN(triesLeft: 7))
        #expect(failure { _ = try key.secret(of: without, pin: pin(nil)) } == .pinRequired)
    }

    @Test func wrongPINs() throws {
        let soft = try SoftKey(pin: "1234")
        let made = try SecurityKey(path: soft.device).makeCredential(pin: pin("1234"))
        var told: [FIDO2Error?] = []
        for number in 0..<9 {
            if number % 3 == 0 {
                soft.unplug()
                try soft.plugIn()
            }
            told.append(failure { _ = try SecurityKey(path: soft.device).secret(of: made, pin: pin("4321")) })
        }
        #expect(
            told == [
                .wrongPIN(triesLeft: 7), .wrongPIN(triesLeft: 6), .pinPaused, .wrongPIN(triesLeft: 4),
                .wrongPIN(triesLeft: 3), .pinPaused, .wrongPIN(triesLeft: 1), .pinBlocked, .pinBlocked,
            ])
        #expect(failure { _ = try SecurityKey(path: soft.device).secret(of: made, pin: pin("1234")) } == .pinBlocked)
        #expect(soft.touches == 1)
        for unfit in ["123", String(repeating: "1", count: 64), "12\u{0}34"] {
            #expect(failure { _ = try pin(unfit) } == .malformedPIN)
        }
    }

    @Test func whatPeopleDo() throws {
        let soft = try SoftKey()
        let key = try SecurityKey(path: soft.device)
        for (way, told) in [(SoftKey.Way.neverTouched, FIDO2Error.notTouched), (.denied, .denied)] {
            try soft.behave(way)
            #expect(failure { _ = try key.makeCredential(pin: pin(nil)) } == told)
        }
        // A key that would wait for ever is cancelled, and can be used again.
        try soft.behave(.waits)
        let hasty = try SecurityKey(path: soft.device, patience: .seconds(1))
        #expect(failure { _ = try hasty.makeCredential(pin: pin(nil)) } == .notTouched)
        try soft.behave(.withoutHMACSecret)
        #expect(failure { _ = try SecurityKey(path: soft.device) } == .unfit)
        try soft.behave(.asItShould)
        let made = try key.makeCredential(pin: pin(nil))
        soft.unplug()
        for _ in 0..<2 {
            #expect(failure { _ = try key.secret(of: made, pin: pin(nil)) } == .noDevice)
        }
    }

    @Test(arguments: ["/dev/null", "/nonexistent", "", "socket:", "socket:/nonexistent", "socket:/dev/null"])
    func aWrongWayLeadsToNoKey(path: String) {
        #expect(failure { _ = try SecurityKey(path: path) } == .noDevice)
    }

    /// A file that is not the library, or lacks some of its functions, is not used.
    @Test func theLibrary() throws {
        for name in ["libfido2-that-is-not.so.1", "libcrypto.so.3", "/dev/null"] {
            let isThere = unsafe lk_fido2_can_load(name)
            #expect(isThere == 0)
        }
        let isThere = unsafe lk_fido2_can_load("libfido2.so.1")
        #expect(isThere == 1)
        #expect(try SecurityKey.pluggedIn().count <= 16)
    }
}
