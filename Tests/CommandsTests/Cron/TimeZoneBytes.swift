/// The bytes of a time zone file without changes.
struct TimeZoneBytes {
    let bytes: [UInt8]

    /// - Parameters:
    ///   - rule: the footer.
    ///   - offset: the only offset before it, in seconds.
    init(rule: String, offset: Int32 = 0, leapSeconds: UInt8 = 0, version: Character = "2") {
        var bytes: [UInt8] = []
        for timeSize in [4, 8] {
            bytes += Array("TZif\(version)".utf8) + Array(repeating: 0, count: 15)
            // Five counts and the bytes of the names.
            for count in [0, 0, leapSeconds, 0, 1, 4] { bytes += [0, 0, 0, count] }
            bytes += withUnsafeBytes(of: offset.bigEndian, Array.init) + [0, 0] + Array("LMT\0".utf8)
            bytes += Array(repeating: 0, count: Int(leapSeconds) * (timeSize + 4))
        }
        self.bytes = bytes + Array("\n\(rule)\n".utf8)
    }
}
