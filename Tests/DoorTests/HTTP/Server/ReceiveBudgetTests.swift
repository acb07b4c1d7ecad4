import Testing

@testable import Door

struct ReceiveBudgetTests {
    @Test func `buffers become smaller with the number of bodies`() {
        #expect(ReceiveBudget.bodySize(active: 0, idle: 0) == 256 << 10)
        #expect(ReceiveBudget.bodySize(active: 200, idle: 0) == (64 << 20) / 10 / 200)
        #expect(ReceiveBudget.bodySize(active: 1, idle: 400) == (64 << 20) / 10 / 201)
        #expect(ReceiveBudget.bodySize(active: 100_000, idle: 0) == 16 << 10)
    }

    @Test func `a connection counts once while its body arrives, and half when it is idle`() {
        let budget = ReceiveBudget()
        var connections: [ReceiveBuffers] = (0..<300).map { _ in ReceiveBuffers(budget) }
        for connection in connections {
            connection.setReadingBody(false)
            #expect(connection.nextBufferSize() == 4 << 10)
            connection.setReadingBody(true)
            connection.setReadingBody(true)
        }
        #expect(budget.bodySize == ReceiveBudget.bodySize(active: 300, idle: 0))
        for connection in connections.prefix(100) { connection.setReadingBody(false) }
        #expect(connections[0].nextBufferSize() == 4 << 10)
        #expect(connections[299].nextBufferSize() == ReceiveBudget.bodySize(active: 200, idle: 100))
        connections = []
        #expect(budget.bodySize == 256 << 10)
    }
}
