import Commands
import Testing

@Suite struct StoredLimitsTests {
    @Test func `a long reason is cut between two characters`() {
        let short = "it was refused"
        #expect(StoredLimits.bounded(short) == short)
        let long = StoredLimits.bounded(String(repeating: "é", count: 5000))
        #expect(long.utf8.count <= 2048 && long.utf8.count > 2040)
        #expect(long.hasSuffix("é…"))
    }

    @Test func `a result that is too large is replaced by a sentence, and the command has succeeded`() throws {
        let large = [UInt8](repeating: 0x20, count: StoredLimits.result + 1)
        let stored = try #require(ExecutionResult.success(result: large).storedResult)
        #expect(try JSONValue(parsing: stored)["problem"]?.string?.contains("524289 bytes") == true)
        let whole = [UInt8](repeating: 0x20, count: StoredLimits.result)
        #expect(ExecutionResult.success(result: whole).storedResult == whole)
    }
}
