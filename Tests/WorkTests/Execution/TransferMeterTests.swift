import Testing

@testable import Work

@Suite struct TransferMeterTests {
    @Test func `the first byte of one request stands until there is that of the next`() {
        let meter = TransferMeter()
        var connection = TransferMeter.Connection()
        connection.firstByte = 1_000_000
        meter.observed(connection)
        connection.firstByte = 0
        connection.roundTrip = 5000
        meter.observed(connection)
        #expect(meter.reading.connection.firstByte == 1_000_000)
        #expect(meter.reading.connection.roundTrip == 5000)
        connection.firstByte = 20_000
        meter.observed(connection)
        #expect(meter.reading.connection.firstByte == 20_000)
    }
}
