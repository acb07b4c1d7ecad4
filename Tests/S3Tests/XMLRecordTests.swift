import Testing

@testable import S3

@Suite struct XMLRecordTests {
    private func record(_ text: String, item: String? = nil) throws -> XMLRecord {
        try XMLRecord(Array(text.utf8), item: item)
    }

    @Test func `children of the root and of the repeated element are read, deeper ones are not`() throws {
        let text = """
            <L><A>1</A><P><N>1</N><O><ID>x</ID></O></P><P><N>2</N></P><Q><N>9</N></Q><A>2</A>
            <E> a <!-- --><![CDATA[b]]> </E></L>
            """
        let record = try record(text, item: "P")
        #expect(record.root == "L")
        #expect(record.fields["A"] == "1")
        #expect(record.items.map { $0["N"] } == ["1", "2"])
        #expect(record.items[0]["ID"] == nil)
        #expect(record.fields["N"] == nil)
        #expect(record.word("E") == "a b")
        #expect(record.word("missing") == nil)
    }

    @Test func `the numbers of elements and names are limited`() throws {
        let many = String(repeating: "<P/>", count: XMLRecord.maxItems)
        #expect(try record("<L>\(many)</L>", item: "P").items.count == XMLRecord.maxItems)
        #expect(throws: XMLError.self) { try record("<L>\(many)<P/></L>", item: "P") }
        let names = (0..<1000).map { "<n\($0)/>" }.joined()
        #expect(try record("<L>\(names)</L>").fields.count == XMLRecord.maxFields)
    }
}
