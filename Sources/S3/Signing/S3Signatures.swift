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
