import Testing

@testable import FileOps

@Suite struct PartFileTests {
    @Test func `after a boot only synced bytes are valid`() {
        let checkpoint = (boot: "this", synced: Int64(1000))
        #expect(PartFile.validLength(of: 5000, checkpoint, boot: "this") == 5000)
        #expect(PartFile.validLength(of: 5000, checkpoint, boot: "other") == 1000)
        #expect(PartFile.validLength(of: 10, checkpoint, boot: "other") == 10)
        #expect(PartFile.validLength(of: 5000, ("this", -1), boot: "other") == 0)
        // Where the boot cannot be read, two boots may look the same.
        #expect(PartFile.validLength(of: 5000, ("", 0), boot: "") == 0)
    }
}
