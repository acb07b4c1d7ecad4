internal import Crypto

/// One request as a server saw it.
package struct ReceivedRequest: Sendable {
    package struct Header: Sendable, Equatable {
        package var name: String
        package var value: String
    }

    /// Counts connections of the server, from 0.
    package var connection: Int
    /// The client's port; 0 where it is not known.
    package var clientPort: Int
    package var method: String
    /// As it stood in the request line, percent-encoded, with its query.
    package var target: String
    /// Empty where the server was told to keep none.
    package var headers: [Header]
    /// The `Content-Length` of the request; 0 where there is none.
    package var declared: Int
    /// When its head was read.
    package var began: MonotonicMoment
    /// Bytes of body that came.
    package var bytes = 0
    /// The same, in steps of ``step`` nanoseconds.
    package var steps: [(number: Int64, bytes: Int64)] = []
    /// SHA-256 of the body in hexadecimal, once it is whole.
    package var sha256: String?
    /// The final status that was answered.
    package var answered: Int?
    /// When the final response had left.
    package var answeredAt: MonotonicMoment?
    package var lastByte: MonotonicMoment
    /// When the connection ended, where it ended before the server was done with the request.
    package var ended: MonotonicMoment?

    /// Nanoseconds of CLOCK_MONOTONIC in one of ``steps``.
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
package func sha256(_ bytes: [UInt8]) -> String { hexadecimal(SHA256.hash(data: bytes)) }

func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}
