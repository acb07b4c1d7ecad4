internal import Glibc

extension ArraySlice<UInt8> {
    /// Finds bytes. The standard library's `firstRange(of:)` takes many times as long.
    /// - Parameter pattern: one byte or more.
    func firstRange(ofBytes pattern: [UInt8]) -> Range<Int>? {
        guard let first = pattern.first else { return nil }
        let offset: Int? = withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return nil }
            var start = 0
            while start + pattern.count <= bytes.count {
                guard let hit = memchr(base + start, Int32(first), bytes.count - pattern.count + 1 - start) else {
                    return nil
                }
                start = UnsafeRawPointer(hit) - base
                if memcmp(hit, pattern, pattern.count) == 0 { return start }
                start += 1
            }
            return nil
        }
        return offset.map { startIndex + $0..<startIndex + $0 + pattern.count }
    }
}
