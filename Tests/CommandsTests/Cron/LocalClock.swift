import Foundation
import Synchronization

/// The local time of glibc (`localtime_r`) in any zone, as a peer of ``TimeZoneOffsets``.
///
/// `TZ` belongs to the whole process. Its entry in the environment has a fixed size and is overwritten, so that no
/// other thread that reads the environment meets an array that moves.
enum LocalClock {
    /// Calls `body` with a function that gives the offset of an instant from UTC, both in seconds.
    /// - Parameter zone: a name or a rule, with at most 200 bytes.
    static func withZone<Result: Sendable>(_ zone: String, _ body: ((Int64) -> Int64) -> Result) -> Result {
        let original = original
        return entry.withLock { entry in
            entry.set(zone)
            defer { entry.set(original) }
            return body { instant in
                var time = time_t(instant)
                var local = tm()
                localtime_r(&time, &local)
                return Int64(local.tm_gmtoff)
            }
        }
    }

    /// The value of `TZ` before the first call. The default of glibc has the same meaning as a missing variable.
    private static let original = getenv("TZ").map { String(cString: $0) } ?? ":/etc/localtime"

    private struct Entry: ~Copyable {
        let bytes: UnsafeMutablePointer<CChar>

        init() {
            bytes = .allocate(capacity: 256)
            bytes.initialize(repeating: 0, count: 256)
        }

        func set(_ zone: String) {
            let text = "TZ=\(zone)".utf8CString
            precondition(text.count <= 256)
            let isFirst = bytes[0] == 0
            for (index, byte) in text.enumerated() { bytes[index] = byte }
            if isFirst { putenv(bytes) }
            tzset()
        }
    }

    private static let entry = Mutex(Entry())
}
