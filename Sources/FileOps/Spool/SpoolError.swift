internal import Commands
internal import Glibc
internal import Host

/// The spool cannot be used. The exit code is 73 where a file cannot be created, 74 where it cannot be
/// written.
package struct SpoolError: Error, Equatable, CustomStringConvertible {
    /// Whether a file or directory could not be created; otherwise it could not be written.
    package let isCreation: Bool
    package let description: String

    init(_ error: SystemError, _ verb: String, _ path: String) {
        isCreation = verb == "create" && error.code != ENOSPC && error.code != EDQUOT
        let reason = error.code == EFBIG ? error.reason : "\(error.words); make room or check its permissions"
        description = "cannot \(verb) \(path): \(reason)"
    }
}
