import Format
import Testing

@Suite struct ErasureStatementTests {
    @Test(arguments: [0, 1, 1_795_000_000, 999_999_999_999]) func `is read as it was written`(_ time: UInt64) {
        let statement = ErasureStatement(erased: time)
        #expect(ErasureStatement(decoding: statement.encoded) == statement)
        #expect(statement.encoded.count <= ErasureStatement.largest)
    }

    @Test(arguments: [
        "", "\n", "LKERASED ", "LKERASED \n", "LKERASED 01\n", "LKERASED 1", "LKERASED 1\n\n", "LKERASED -1\n",
        "LKERASED +1\n", "LKERASED 1 \n", "lkerased 1\n", "LKERASED 1000000000000\n", "LKERASED  1\n",
    ])
    func `anything else is refused`(_ text: String) {
        #expect(ErasureStatement(decoding: Array(text.utf8)) == nil)
    }
}
