package import Commands
internal import Synchronization
internal import Transfers

/// The signing keys and the clocks of the endpoints of a process.
package final class S3Signatures: Sendable {
    private struct State {
        var keys = AWSSigningKeys()
        /// An offset of zero is not stored.
        var offsets: [Destination: S3ClockOffset] = [:]
    }

    private static let maxEndpoints = 256

    private let state = Mutex(State())

    package init() {}

    /// Signs a request by the clock of its endpoint.
    /// - Parameter now: this host's clock.
    /// - Returns: the headers to send, without `Host`.
    func headers(
        for request: AWSRequest, payload: AWSPayloadHash, by signer: AWSSigner, at endpoint: Destination, now: Timestamp
    ) -> [HTTPField] {
        state.withLock { state in
            let time = state.offsets[endpoint]?.time(now) ?? now
            return signer.headers(for: request, payload: payload, at: time, keys: &state.keys)
        }
    }

    /// Signs the next requests to an endpoint with its clock.
    package func correct(_ offset: S3ClockOffset, of endpoint: Destination) {
        state.withLock { state in
            if state.offsets.count >= Self.maxEndpoints { state.offsets.removeAll(keepingCapacity: true) }
            state.offsets[endpoint] = offset
        }
    }
}

/// The difference between the clock of an endpoint and this host's. S3 accepts 15 minutes.
package struct S3ClockOffset: Sendable, Equatable {
    /// Added to this host's clock at signing.
    private(set) var offset: Duration = .zero

    /// The offset at which an answer with this time came.
    /// - Parameters:
    ///   - serverTime: the field `Date`, in whole seconds.
    ///   - now: this host's clock when the answer came.
    static func measured(serverTime: Timestamp, now: Timestamp) -> S3ClockOffset {
        S3ClockOffset(offset: serverTime - now)
    }

    /// The time to sign with.
    func time(_ now: Timestamp) -> Timestamp { now + offset }

    /// The offset in words: `960 s behind the endpoint`.
    var text: String {
        let seconds = offset.milliseconds / 1000
        return seconds >= 0 ? "\(seconds) s behind the endpoint" : "\(seconds.magnitude) s ahead of the endpoint"
    }
}
