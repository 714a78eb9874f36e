/// What keys are derived for, as docs/FORMAT.md writes it.
enum Label {
    static let names = Array("latchkey names".utf8)
    static let symlinks = Array("latchkey symlinks".utf8)
    static let xattrs = Array("latchkey xattrs".utf8)
    static let directories = Array("latchkey directories".utf8)
    static let headers = Array("latchkey headers".utf8)
    static let places = Array("latchkey places".utf8)
    static let journal = Array("latchkey journal".utf8)
    static let summaries = Array("latchkey summaries".utf8)

    static let fileKey = Array("latchkey file key".utf8)
    static let fileKeyB = Array("latchkey file key B".utf8)

    static let keybag = Array("latchkey keybag".utf8)
    static let deviceSlot = Array("latchkey device slot".utf8)
    static let recovery = Array("latchkey recovery".utf8)
    static let keyFile = Array("latchkey key file".utf8)
    static let escrow = Array("latchkey escrow".utf8)
    static let securityKey = Array("latchkey fido2".utf8)
    static let noPasscode = Array("latchkey no passcode".utf8)
    static let backup = Array("latchkey backup".utf8)
    static let backupKey = Array("latchkey backup key".utf8)
    static let chip = Array("latchkey tpm".utf8)
    static let chipAuthorization = Array("latchkey tpm authorization".utf8)
    static let guess = Array("latchkey guess".utf8)
    static let argon2Salt = Array("argon2 salt".utf8)
}
