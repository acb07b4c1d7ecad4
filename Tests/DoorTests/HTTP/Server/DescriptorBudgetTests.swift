import Door
import Testing

struct DescriptorBudgetTests {
    @Test func `connections leave 256 descriptors to the rest of the process`() throws {
        #expect(try DescriptorBudget.maxConnections(limit: 1024, configured: nil) == 768)
        #expect(try DescriptorBudget.maxConnections(limit: 1024, configured: 100) == 100)
        #expect(try DescriptorBudget.maxConnections(limit: 1024, configured: 5000) == 768)
    }

    @Test func `a limit that leaves no connections is an error that says the remedy`() {
        let error = #expect(throws: DoorServerError.self) {
            try DescriptorBudget.maxConnections(limit: 260, configured: nil)
        }
        #expect(error?.description.contains("ulimit -n") == true)
    }
}
