internal import Crypto

/// One request as a receiver saw it.
package struct ReceivedRequest: Sendable {
    package struct Header: Sendable, Equatable {
        package var name: String
        package var value: String
    }

    /// Counts connections of the receiver, from 0.
    package var connection: Int
    package var method: String
    /// As it stood in the request line, percent-encoded, with its query.
    package var target: String
    package var headers: [Header]
    /// The `Content-Length` of the request; 0 where there is none.
    package var declared: Int
    package var began: ContinuousClock.Instant
    /// Bytes of body that came.
    package var bytes = 0
    /// SHA-256 of the body in hexadecimal, once it is whole.
    package var sha256: String?
    /// The status that was answered.
    package var answered: Int?
    package var lastByte: ContinuousClock.Instant
    /// When the connection ended, where it has.
    package var ended: ContinuousClock.Instant?

    package var isWhole: Bool { bytes == declared }

    /// The value of the first header of that name, in any case.
    package subscript(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// The command's id in `Idempotency-Key`, without the quotes.
    package var key: String? {
        guard let value = self["idempotency-key"], value.count >= 2, value.hasPrefix("\""), value.hasSuffix("\"") else {
            return nil
        }
        return String(value.dropFirst().dropLast())
    }
}

/// SHA-256 in hexadecimal, as in ``ReceivedRequest/sha256``.
package func sha256(_ bytes: [UInt8]) -> String { hexadecimal(SHA256.hash(data: bytes)) }

func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}
