internal import CLinux
internal import Host

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Copies a file that no process changes, durably, to a new file that other users cannot read.
package enum DurableCopy {
    /// - Parameters:
    ///   - target: it is replaced where it exists, with the other files of a database there.
    ///   - progress: gets the bytes that are copied so far, and all bytes of the file.
    package static func run(from source: String, to target: String, progress: (Int64, Int64) -> Void) throws(StoreError)
    {
        do throws(SystemError) {
            let input = try openFile(source, O_RDONLY)
            defer { close(input) }
            try DatabaseFile.remove(target)
            let output = try openFile(target, O_WRONLY | O_CREAT | O_EXCL)
            defer { close(output) }
            var facts = stat()
            guard fstat(input, &facts) == 0 else { throw SystemError("stat", source) }
            let size = Int64(facts.st_size)
            if clinux_reflink(input, output) != 0 {
                try copy(input, source, output, target) { progress($0, size) }
            }
            guard fsync(output) == 0 else { throw SystemError("sync", target) }
            progress(size, size)
        } catch {
            throw StoreError(error)
        }
    }

    private static func copy(
        _ input: CInt, _ source: String, _ output: CInt, _ target: String, _ progress: (Int64) -> Void
    ) throws(SystemError) {
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        var total: Int64 = 0
        while true {
            let count = read(input, &bytes, bytes.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw SystemError("read", source) }
            if count == 0 { return }
            var written = 0
            while written < count {
                let step = bytes.withUnsafeBytes { buffer in
                    write(output, buffer.baseAddress?.advanced(by: written), count - written)
                }
                guard step > 0 || errno == EINTR else { throw SystemError("write", target) }
                written += max(step, 0)
            }
            total += Int64(count)
            progress(total)
        }
    }
}
