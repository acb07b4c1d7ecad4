internal import Glibc

/// Sets the modification time of an open file, and leaves its access time.
/// - Parameter milliseconds: since 1970.
package func setModificationTime(of descriptor: CInt, milliseconds: Int64) throws(SystemError) {
    var times = [timespec(), timespec()]
    // UTIME_OMIT of utimensat(2), which is not imported.
    times[0].tv_nsec = (1 << 30) - 2
    times[1].tv_sec = Int(milliseconds / 1000)
    times[1].tv_nsec = Int(milliseconds % 1000) * 1_000_000
    guard futimens(descriptor, times) == 0 else { throw SystemError() }
}
