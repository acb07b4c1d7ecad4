import CLinux
import Glibc
import Host
import Synchronization

enum Pipe {
    /// Both ends close-on-exec.
    static func make() throws(SupervisionError) -> (read: CInt, write: CInt) {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw .system(SystemError(errno, attempt: "create a pipe"))
        }
        for end in ends { _ = clinux_fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }
}
