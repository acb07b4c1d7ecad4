internal import Commands
internal import HTTPClient

/// A time in the form of `x-amz-date`: `20130524T000000Z`.
enum AWSDate {
    /// The time in whole seconds, rounded down. Years beyond 0 to 9999 are clamped.
    static func text(_ time: Timestamp) -> String {
        // 2013-05-24T00:00:00.000Z
        let digits = time.description.utf8.prefix(19).filter { $0.isDigit || $0 == UInt8(ascii: "T") }
        return String(decoding: digits, as: UTF8.self) + "Z"
    }

    /// - Returns: nil where `text` is not of that form.
    static func time(_ text: some StringProtocol) -> Timestamp? {
        let bytes = Array(text.utf8)
        guard bytes.count == 16, bytes[8] == UInt8(ascii: "T"), bytes[15] == UInt8(ascii: "Z") else { return nil }
        let parts = [0..<4, 4..<6, 6..<8, 9..<11, 11..<13, 13..<15].map {
            String(decoding: bytes[$0], as: UTF8.self)
        }
        return Timestamp(
            rfc3339: "\(parts[0])-\(parts[1])-\(parts[2])T\(parts[3]):\(parts[4]):\(parts[5])Z")
    }
}
