import Testing

@testable import Door

struct ReceiveBudgetTests {
    @Test func `buffers become smaller with the number of bodies`() {
        #expect(ReceiveBudget.bufferSize(bodies: 0) == 256 << 10)
        #expect(ReceiveBudget.bufferSize(bodies: 200) == (64 << 20) / 10 / 200)
        #expect(ReceiveBudget.bufferSize(bodies: 100_000) == 16 << 10)
    }

    @Test func `a connection counts once while its body arrives`() {
        let budget = ReceiveBudget()
        var buffers: [ReceiveBuffers] = (0..<300).map { _ in ReceiveBuffers(budget) }
        for buffer in buffers {
            buffer.setReadingBody(true)
            buffer.setReadingBody(true)
        }
        #expect(budget.bufferSize == ReceiveBudget.bufferSize(bodies: 300))
        buffers[0].setReadingBody(false)
        #expect(buffers[0].nextBufferSize() == 16 << 10)
        #expect(budget.bufferSize == ReceiveBudget.bufferSize(bodies: 299))
        buffers = []
        #expect(budget.bufferSize == 256 << 10)
    }
}
