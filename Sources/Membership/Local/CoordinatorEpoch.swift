internal import Commands
internal import Glibc
internal import Host
internal import Store

/// The number of a coordinator. Workers obey the greatest that they have heard, so it grows with each start.
///
/// A file in `run/`, not a row of a shard: a damaged shard does not set it back. The workers that have heard
/// it end with the machine, so it is not synced.
enum CoordinatorEpoch {
    /// Returns a number that is greater than all before. Hold the coordinator's lock.
    static func next(in run: RunDirectory, now: Timestamp) throws(StoreError) -> Int64 {
        let path = run.coordinatorEpoch
        let descriptor: CInt
        do throws(SystemError) {
            descriptor = try openFile(path, O_RDWR | O_CREAT)
        } catch {
            throw StoreError(error)
        }
        defer { close(descriptor) }
        // It grows with time, and also where the clock was set back.
        let next = max(now.milliseconds, last(descriptor) + 1)
        let text = "\(next)\n"
        // The text is never shorter than the one that it replaces.
        guard text.withCString({ pwrite(descriptor, $0, strlen($0), 0) }) == text.utf8.count else {
            throw StoreError(.full, "\(SystemError("write", path))")
        }
        return next
    }

    /// 0 for an empty or foreign text.
    private static func last(_ descriptor: CInt) -> Int64 {
        withUnsafeTemporaryAllocation(byteCount: 32, alignment: 1) { buffer in
            let count = pread(descriptor, buffer.baseAddress, buffer.count, 0)
            guard count > 0 else { return 0 }
            let number = Int64(String(decoding: buffer[..<count], as: UTF8.self).prefix { $0.isNumber }) ?? 0
            return min(number, Int64.max - 1)
        }
    }
}
