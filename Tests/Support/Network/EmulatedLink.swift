package import Commands

/// A link as a test wants it. What counts are IP packets: of 1,500 bytes, TCP carries ``payloadShare``.
package struct EmulatedLink: Sendable, Equatable {
    /// Bits per second each way; nil: no limit.
    package var rate: Double?
    /// One way.
    package var delay: Duration
    /// Probability that a packet is lost, from 0 to 1.
    package var loss: Double
    /// Bytes that wait in each direction before packets are dropped; nil: what fills the link for a round trip, 150,000
    /// at least (at 2 Mbit/s that is 0.6 s, as in a cheap modem).
    package var queue: Int?
    /// Every SYN towards the servers with a multiple of this number is answered by RST; nil: none is.
    package var resetEvery: Int?

    package init(
        rate: Double? = nil, delay: Duration = .zero, loss: Double = 0, queue: Int? = nil, resetEvery: Int? = nil
    ) {
        self.rate = rate
        self.delay = delay
        self.loss = loss
        self.queue = queue
        self.resetEvery = resetEvery
    }

    /// With rate in Mbit/s and the round trip's time.
    package static func megabits(_ rate: Double, roundTrip: Duration = .milliseconds(50), loss: Double = 0) -> Self {
        EmulatedLink(rate: rate * 1e6, delay: roundTrip / 2, loss: loss)
    }

    /// What TCP carries of a full packet: 20 bytes of IP and 32 of TCP with its time stamps are the rest.
    package static let payloadShare = 1448.0 / 1500

    /// Bytes per second that TCP can carry.
    package var payloadCeiling: Double { (rate ?? .infinity) / 8 * Self.payloadShare }

    package var json: JSONValue {
        let delay = Double(delay.components.seconds) + Double(delay.components.attoseconds) / 1e18
        let product = (rate ?? 0) * 2 * delay / 8
        return [
            "rate": rate.map { .number($0) } ?? .null, "delay": .number(delay), "loss": .number(loss),
            "queue": .integer(Int64(queue ?? max(150_000, Int(product)))),
            "resetEvery": resetEvery.map { .integer(Int64($0)) } ?? .null,
        ]
    }
}
