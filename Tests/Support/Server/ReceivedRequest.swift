internal import Commands
internal import Crypto
internal import Foundation
package import Host

/// One request that a server has received.
package struct ReceivedRequest: Sendable {
    package struct Header: Sendable, Equatable {
        package var name: String
        package var value: String
    }

    /// The number of the connection, from 0.
    package var connection: Int
    /// The port of the client; 0 if unknown.
    package var clientPort: Int
    package var method: String
    /// The target of the request line, percent-encoded, with its query.
    package var target: String
    /// The header fields; empty if the server keeps none.
    package var headers: [Header]
    /// The `Content-Length` of the request; 0 without one.
    package var declared: Int
    /// The time at which the head was read.
    package var began: MonotonicTime
    /// The received bytes of the body.
    package var bytes = 0
    /// The received bytes in steps of ``step`` nanoseconds.
    package var steps: [(number: Int64, bytes: Int64)] = []
    /// The SHA-256 of the complete body in hexadecimal.
    package var sha256: String?
    /// The status of the final response.
    package var answered: Int?
    /// The time at which the final response was sent.
    package var answeredAt: MonotonicTime?
    package var lastByte: MonotonicTime
    /// The time at which the connection ended, if it ended before the exchange.
    package var ended: MonotonicTime?

    /// The length of one of ``steps`` in nanoseconds of CLOCK_MONOTONIC.
    package static let step: Int64 = 50_000_000

    init(connection: Int, clientPort: Int, head: RequestHead, keepsHeaders: Bool) {
        self.connection = connection
        self.clientPort = clientPort
        method = head.method
        target = head.target
        headers = keepsHeaders ? head.headers : []
        declared = head.declared
        began = .now
        lastByte = began
    }

    mutating func add(_ count: Int) {
        bytes += count
        lastByte = .now
        let number = lastByte.nanoseconds / Self.step
        if let index = steps.indices.last, steps[index].number == number {
            steps[index].bytes += Int64(count)
        } else {
            steps.append((number, Int64(count)))
        }
    }

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
package func sha256(_ bytes: [UInt8]) -> String { Hexadecimal.text(SHA256.hash(data: bytes)) }

/// `v1,` and the HMAC-SHA256 in base64 (Standard Webhooks 1.0.0).
/// - Parameters:
///   - text: id, timestamp and body with dots between them.
///   - secret: `whsec_` and base64.
package func webhookSignature(of text: String, secret: String) -> String {
    let key = Data(base64Encoded: String(secret.dropFirst("whsec_".count))) ?? Data()
    let code = HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: SymmetricKey(data: key))
    return "v1,\(Data(code).base64EncodedString())"
}
