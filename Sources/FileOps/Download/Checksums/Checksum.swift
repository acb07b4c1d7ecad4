internal import Commands
internal import HTTPClient
internal import Operations

/// The expected checksum of a whole file.
struct Checksum: Sendable, Equatable {
    let algorithm: ChecksumAlgorithm
    let bytes: [UInt8]

    /// - Returns: nil where the number of bytes is not that of the algorithm.
    init?(_ algorithm: ChecksumAlgorithm, _ bytes: [UInt8]) {
        guard bytes.count == algorithm.byteCount else { return nil }
        self.algorithm = algorithm
        self.bytes = bytes
    }

    /// Reads `sha256:` and 64 hexadecimal digits; likewise `sha512`, `sha1` and `md5`.
    init(_ text: String) throws(PayloadError) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let algorithm = ChecksumAlgorithm(rawValue: parts[0].lowercased()),
            algorithm != .crc32c
        else {
            throw PayloadError(
                .data,
                "“checksum” is “\(text.prefix(200))”; it is sha256, sha512, sha1 or md5, a colon and the hexadecimal "
                    + "digits")
        }
        guard let bytes = Hexadecimal.bytes(parts[1]), bytes.count == algorithm.byteCount else {
            throw PayloadError(
                .data,
                "“checksum” must have \(2 * algorithm.byteCount) hexadecimal digits after “\(algorithm.rawValue):”")
        }
        self.algorithm = algorithm
        self.bytes = bytes
    }

    /// `sha256:` and the digits in lower case.
    var text: String { "\(algorithm.rawValue):\(Hexadecimal.text(bytes))" }
}
