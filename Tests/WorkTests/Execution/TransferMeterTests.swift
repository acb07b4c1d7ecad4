import Testing

@testable import Operations

@Suite struct TransferMeterTests {
    @Test func `the time to the first byte stays until the next request has one`() {
        let meter = TransferMeter()
        var connection = TransferMeter.Connection()
        connection.firstByte = .seconds(1)
        meter.observed(connection)
        connection.firstByte = nil
        connection.roundTrip = .milliseconds(5)
        meter.observed(connection)
        #expect(meter.reading.connection.firstByte == .seconds(1))
        #expect(meter.reading.connection.roundTrip == .milliseconds(5))
        connection.firstByte = .milliseconds(20)
        meter.observed(connection)
        #expect(meter.reading.connection.firstByte == .milliseconds(20))
    }

    @Test func `the bytes of a checksum are read until bytes of the transfer follow`() {
        let meter = TransferMeter(total: 10)
        meter.progress(offset: 10, total: 10)
        meter.verify(4)
        #expect(meter.reading.verified == 4 && meter.reading.offset == 10)
        meter.progress(offset: 10, total: 10)
        #expect(meter.reading.verified == nil && meter.reading.offset == 10)
    }

    @Test func `a response is missing while its time grows and no byte moves`() {
        let meter = TransferMeter(total: 10)
        func isAwaiting(_ firstByte: Duration?, bytes: Int = 0) -> Bool {
            var connection = TransferMeter.Connection()
            connection.firstByte = firstByte
            meter.add(bytes)
            meter.progress(offset: meter.reading.bytes, total: 10)
            meter.observed(connection)
            let (now, before) = meter.take()
            return now.isAwaitingResponse(since: before)
        }
        #expect(!isAwaiting(nil, bytes: 6), "the request has not ended")
        #expect(!isAwaiting(.milliseconds(1)), "the last bytes are not acknowledged")
        #expect(!isAwaiting(.milliseconds(2), bytes: 4), "the last bytes were acknowledged")
        #expect(isAwaiting(.milliseconds(250)))
        #expect(isAwaiting(.milliseconds(500)))
        #expect(!isAwaiting(.milliseconds(500)), "the response has come")
    }

    @Test func `bytes that were sent again count from 0 on each connection`() {
        let meter = TransferMeter()
        func resent(_ bytes: Int64) -> Int64 {
            var connection = TransferMeter.Connection()
            connection.retransmitted = bytes
            meter.observed(connection)
            let (now, before) = meter.take()
            return now.resent(since: before)
        }
        #expect([10, 15, 15, 4, 6].map(resent) == [10, 5, 0, 4, 2])
    }
}
