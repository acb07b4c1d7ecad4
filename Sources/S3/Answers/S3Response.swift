internal import Commands
internal import HTTPClient
internal import Transfers

/// A final response of an endpoint, without the connection.
package struct S3Response: Sendable, Equatable {
    var status: Int
    var headers: [HTTPField] = []
    /// Up to 1 MiB.
    var body: [UInt8] = []
    /// Whether the whole body came.
    var isWhole = true

    /// The first header of that name.
    /// - Parameter name: in lower case.
    func header(_ name: String) -> String? { headers.first { $0.lowerName == name }?.value }

    var isSuccess: Bool { (200..<300).contains(status) }

    /// A date of HTTP (RFC 9110, section 5.6.7).
    func date(_ name: String) -> Timestamp? { header(name).flatMap(RetryAfter.date) }
}
