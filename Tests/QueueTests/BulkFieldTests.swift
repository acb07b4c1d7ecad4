import Commands
import Operations
import Queue
import Testing

@Suite struct BulkFieldTests {
    private func read(_ name: String, _ value: JSONValue) throws -> SubmitOptions {
        var options = SubmitOptions()
        try BulkField.read(.init(name, value), into: &options)
        return options
    }

    @Test func `each member of a line sets its option`() throws {
        #expect(try read("qos", "utility").qos == .utility)
        #expect(try read("idempotent", true).idempotent == true)
        #expect(try read("uniqueKey", "k").uniqueKey == "k")
        #expect(try read("uniqueFor", "running").uniqueFor == .running)
        #expect(try read("retryLimit", 3).retryLimit == 3)
        #expect(try read("notBefore", "2026-03-01T12:34:56Z").notBefore == Timestamp(milliseconds: 1_772_368_496_000))
        #expect(try read("deadline", "1h").deadline != nil)
        #expect(try read("destination", "https://host/x").destination?.text == "https://host:443")
    }

    @Test(
        arguments: [
            ("qos", "urgent"), ("qos", 3), ("uniqueKey", ""), ("uniqueFor", "ever"), ("retryLimit", "3"),
            ("notBefore", "tomorrow"), ("destination", "host"), ("idempotent", "yes"), ("priority", 1),
        ] as [(String, JSONValue)])
    func `a member with a wrong name or value is refused by name`(_ name: String, _ value: JSONValue) {
        let error = #expect(throws: PayloadError.self) { try read(name, value) }
        #expect(error?.problem == .data)
        #expect(error?.message.contains("“\(name)”") == true)
    }
}
