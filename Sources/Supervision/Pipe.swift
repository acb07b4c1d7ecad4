import CLinux
import Glibc
import Synchronization

enum Pipe {
    /// Both ends close-on-exec.
    static func make() throws(SupervisionError) -> (read: CInt, write: CInt) {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw .system(attempt: "make a pipe", number: errno, reason: String(cString: strerror(errno)))
        }
        for end in ends { _ = clinux_fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }
}
